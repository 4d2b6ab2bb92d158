import { setTimeout as sleep } from "node:timers/promises";
import type { Role, Slot } from "../fleet/plan.ts";
import { pick } from "../random.ts";
import { between, type Fault } from "./fault.ts";

/** Longer than every lease, claim and heartbeat of the fleet. */
const outage = { lowMs: 1_800, highMs: 3_200 };
const cutWithinMs = 3_000;

/** Statements that commit by themselves, by the role that sends them. */
const statements: Readonly<Record<Role, readonly string[]>> = {
  "command-worker": ["COMMIT", "command_bus_settle", "command_bus_claim"],
  "command-producer": ["COMMIT", "command_bus_enqueue"],
  coordinator: ["scheduler_leader_lease"],
  "scheduler-worker": ["scheduler_fire_jobs"],
  "tick-producer": ["topic_message"],
  indexer: ["COMMIT", "COMMIT", "coordinator_batches"],
};

/** What can happen between a process and the database. */
export function networkFaults(slots: readonly Slot[]): Fault[] {
  const all = slots.map(({ name }) => name);
  return [
    {
      name: "cut-at-commit",
      targets: all,
      lastsMs: cutWithinMs,
      weight: 8,
      inject: async (stage, { target, random }) => {
        const { network, process } = stage.member(target);
        const cut = network.cutAfter(pick(statements[process.slot.role], random)).then(() => true);
        const wasCut = await Promise.race([cut, sleep(cutWithinMs, false)]);
        network.spare();
        return wasCut ? "done" : "missed";
      },
    },
    {
      name: "network-down",
      targets: all,
      lastsMs: outage.highMs,
      weight: 3,
      inject: async (stage, { target, random }) => {
        const { network } = stage.member(target);
        network.goDown();
        await sleep(between(outage.lowMs, outage.highMs, random));
        network.comeUp();
        return "done";
      },
    },
    {
      name: "requests-late",
      targets: all,
      lastsMs: outage.highMs,
      weight: 4,
      inject: async (stage, { target, random }) => {
        const { network } = stage.member(target);
        network.hold("requests");
        await sleep(between(outage.lowMs, outage.highMs, random));
        network.release();
        return "done";
      },
    },
    {
      name: "answers-lost",
      targets: all,
      lastsMs: outage.highMs,
      weight: 4,
      inject: async (stage, { target, random }) => {
        const { network } = stage.member(target);
        network.hold("answers");
        await sleep(between(outage.lowMs, outage.highMs, random));
        network.cutAll();
        network.release();
        return "done";
      },
    },
  ];
}
