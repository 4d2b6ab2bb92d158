import type { Slot } from "../fleet/plan.ts";
import { type Fault, slotsWith } from "./fault.ts";

const doneWithinMs = 5_000;

/** What producers can do to the others: ten times the load, poison, huge data. */
export function loadFaults(slots: readonly Slot[], hasCommands: boolean): Fault[] {
  const targets = hasCommands ? slotsWith(slots, "command-producer") : [];
  const asked = (name: string, weight: number): Fault => ({
    name,
    targets,
    lastsMs: 1_000,
    weight,
    inject: async (stage, { target, random }) =>
      (await stage.member(target).process.ask(name, random, doneWithinMs)) ? "done" : "missed",
  });
  return targets.length === 0 ? [] : [asked("burst", 1), asked("poison", 2), asked("huge", 1)];
}
