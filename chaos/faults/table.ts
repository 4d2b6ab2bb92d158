import { type Part, runPlans, slotsOf } from "../fleet/plan.ts";
import type { Fault } from "./fault.ts";
import { fileFaults } from "./files.ts";
import { loadFaults } from "./load.ts";
import { natsKilled } from "./nats.ts";
import { networkFaults } from "./network.ts";
import { postgresFaults } from "./postgres.ts";
import { processFaults } from "./processes.ts";

/** Every fault that makes sense for these parts, by family. */
export function faultsFor(parts: readonly Part[], topics: "postgres" | "nats"): Fault[] {
  const slots = slotsOf(parts, parts.includes("pipeline") ? runPlans(0) : []);
  const isOnNats = topics === "nats" && parts.includes("pipeline");
  return [
    ...processFaults(slots),
    ...postgresFaults(slots),
    ...networkFaults(slots),
    ...fileFaults(slots),
    ...loadFaults(slots, parts.includes("commands")),
    ...(isOnNats ? [natsKilled] : []),
  ].filter(({ targets }) => targets.length > 0);
}
