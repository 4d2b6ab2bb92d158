import { setTimeout as sleep } from "node:timers/promises";
import type { Slot } from "../fleet/plan.ts";
import type { Stage } from "../fleet/stage.ts";
import type { FaultPlan, Strike } from "../schedule.ts";

/** How a fault ended: it happened; nothing was there to hit; or it can't be done here, and why. */
export type FaultOutcome = "done" | "missed" | { readonly skipped: string };

/** A way to break things. */
export interface Fault extends FaultPlan {
  /** Strikes, and makes good what would not heal by itself. */
  inject(stage: Stage, strike: Strike): Promise<FaultOutcome>;
}

/** Names of the slots that have one of these roles. */
export function slotsWith(slots: readonly Slot[], ...roles: readonly Slot["role"][]): string[] {
  return slots.filter(({ role }) => roles.includes(role)).map(({ name }) => name);
}

/** Waits until something holds, up to a time; says whether it does. */
export async function holdsWithin(timeoutMs: number, holds: () => boolean): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (!holds()) {
    if (performance.now() > deadline) return false;
    await sleep(50);
  }
  return true;
}

/** A time between two, as a number in [0, 1) says. */
export function between(lowMs: number, highMs: number, random: number): number {
  return lowMs + (highMs - lowMs) * random;
}
