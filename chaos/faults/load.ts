import { overload, type Slot } from "../fleet/plan.ts";
import { type Fault, slotsWith } from "./fault.ts";

const doneWithinMs = 5_000;

/** What producers can do to the others: ten times the load, poison, data that hangs or is huge. */
export function loadFaults(slots: readonly Slot[], hasCommands: boolean): Fault[] {
  const commandProducers = hasCommands ? slotsWith(slots, "command-producer") : [];
  const producers = [...commandProducers, ...slotsWith(slots, "tick-producer")];
  const asked = (fault: Pick<Fault, "name" | "targets" | "weight"> & { lastsMs?: number }): Fault => ({
    lastsMs: 1_000,
    ...fault,
    inject: async (stage, { target, random }) =>
      (await stage.member(target).process.ask(fault.name, random, (fault.lastsMs ?? 0) + doneWithinMs))
        ? "done"
        : "missed",
  });
  return [
    asked({ name: "burst", targets: commandProducers, weight: 1 }),
    asked({ name: "poison", targets: commandProducers, weight: 1 }),
    asked({ name: "hanging", targets: commandProducers, weight: 1 }),
    asked({ name: "huge", targets: commandProducers, weight: 1 }),
    asked({ name: "overload", targets: producers, weight: 3, lastsMs: overload.lastsMs }),
  ];
}
