import { type FleetSize, type Part, runPlans, slotsOf } from "../fleet/plan.ts";
import type { Fault } from "./fault.ts";
import { fileFaults } from "./files.ts";
import { loadFaults } from "./load.ts";
import { malformedMessages } from "./messages.ts";
import { natsKilled } from "./nats.ts";
import { networkFaults } from "./network.ts";
import { postgresFaults } from "./postgres.ts";
import { processFaults } from "./processes.ts";

/** What faults are chosen for. */
export interface Theatre {
  readonly parts: readonly Part[];
  readonly topics: "postgres" | "nats";
  readonly size: FleetSize;
}

/** Every fault that makes sense there, by family. */
export function faultsFor({ parts, topics, size }: Theatre): Fault[] {
  const hasPipeline = parts.includes("pipeline");
  const runs = hasPipeline ? runPlans(0, size) : [];
  const slots = slotsOf(parts, runs, size);
  return [
    ...processFaults(slots),
    ...postgresFaults(slots),
    ...networkFaults(slots),
    ...fileFaults(slots),
    ...loadFaults(slots, parts.includes("commands")),
    ...(hasPipeline ? [malformedMessages(runs)] : []),
    ...(hasPipeline && topics === "nats" ? [natsKilled] : []),
  ].filter(({ targets }) => targets.length > 0);
}
