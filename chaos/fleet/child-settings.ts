import type { RunPlan } from "./plan.ts";

/** What the harness tells a child when it starts it. */
export interface ChildSettings {
  readonly slot: string;
  /** Which process this is in its slot: 1 for the first. */
  readonly life: number;
  readonly seed: number;
  /** Folder of the whole chaos run. */
  readonly folder: string;
  readonly databaseUrl: string;
  readonly natsUrl: string | undefined;
  readonly runs: readonly RunPlan[];
  /** How far its wall clock is off. */
  readonly clockOffsetMs: number;
  /** How long the faults strike, and the jobs fire. */
  readonly faultMs: number;
}

/** The variable that carries the settings. */
export const settingsVariable = "CHAOS_SETTINGS";
