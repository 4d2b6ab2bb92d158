import { setTimeout as sleep } from "node:timers/promises";
import type { TcpProxy } from "../../tests/helpers/tcp-proxy.ts";
import type { Role, Slot } from "../fleet/plan.ts";
import { pick } from "../random.ts";
import { between, type Fault, slotsWith } from "./fault.ts";

/** Longer than every lease, claim and heartbeat of the fleet. */
const outage = { lowMs: 1_800, highMs: 3_200 };
const cutWithinMs = 3_000;
const beginWithinMs = 1_000;

/** Statements that commit, by the role that sends them. */
const statements: Readonly<Record<Role, readonly string[]>> = {
  "command-worker": ["COMMIT", "command_bus_settle", "command_bus_claim"],
  "command-producer": ["COMMIT", "command_bus_enqueue"],
  coordinator: ["scheduler_leader_lease"],
  "scheduler-worker": ["scheduler_fire_jobs"],
  "tick-producer": ["topic_message"],
  indexer: ["COMMIT", "COMMIT", "coordinator_batches"],
};

/** Part of the statement by which an indexer locks the files that it is about to write. */
const flushBegins = "s(filename, claim_version, resume_at)";

/** What can happen between a process and the database. */
export function networkFaults(slots: readonly Slot[]): Fault[] {
  const targets = slots.map(({ name }) => name);
  return [
    cutAtCommit(targets),
    outageOf(targets, {
      name: "network-down",
      weight: 3,
      begin: (network) => network.goDown(),
      end: (network) => network.comeUp(),
    }),
    requestsLate(targets),
    flushLate(slotsWith(slots, "indexer")),
    outageOf(targets, {
      name: "answers-lost",
      weight: 4,
      begin: (network) => network.hold("answers"),
      end: (network) => {
        network.cutAll();
        network.release();
      },
    }),
  ];
}

/** The server gets the statement, and the process never hears what became of it. */
function cutAtCommit(targets: readonly string[]): Fault {
  return {
    name: "cut-at-commit",
    targets,
    lastsMs: cutWithinMs,
    weight: 8,
    inject: async (stage, { target, random }) => {
      const { network, process } = stage.member(target);
      const cut = network.cutAfter(pick(statements[process.slot.role], random)).then(() => true);
      const wasCut = await Promise.race([cut, sleep(cutWithinMs, false)]);
      network.spare();
      return wasCut ? "done" : "missed";
    },
  };
}

/** What a process asks for, from a statement that commits on, arrives when others have taken it for dead. */
function requestsLate(targets: readonly string[]): Fault {
  return {
    name: "requests-late",
    targets,
    lastsMs: beginWithinMs + outage.highMs,
    weight: 6,
    inject: async (stage, { target, random }) => {
      const { network, process } = stage.member(target);
      await Promise.race([
        network.holdFrom(pick(statements[process.slot.role], random)),
        sleep(beginWithinMs),
      ]);
      network.hold("requests");
      await sleep(between(outage.lowMs, outage.highMs, random));
      network.release();
      return "done";
    },
  };
}

/** An indexer's flush arrives when the other indexer of its run has taken the files over. */
function flushLate(indexers: readonly string[]): Fault {
  return {
    name: "flush-late",
    // The second half are the others: they must be well.
    targets: indexers.slice(0, indexers.length / 2),
    lastsMs: beginWithinMs + outage.highMs,
    weight: 4,
    inject: async (stage, { target }) => {
      const { network } = stage.member(target);
      const isHeld = network.holdFrom(flushBegins).then(() => true);
      const hasBegun = await Promise.race([isHeld, sleep(beginWithinMs, false)]);
      if (hasBegun) await sleep(outage.highMs);
      network.release();
      return hasBegun ? "done" : "missed";
    },
  };
}

interface Outage {
  readonly name: string;
  readonly weight: number;
  begin(network: TcpProxy): void;
  end(network: TcpProxy): void;
}

function outageOf(targets: readonly string[], { name, weight, begin, end }: Outage): Fault {
  return {
    name,
    targets,
    lastsMs: outage.highMs,
    weight,
    inject: async (stage, { target, random }) => {
      const { network } = stage.member(target);
      begin(network);
      await sleep(between(outage.lowMs, outage.highMs, random));
      end(network);
      return "done";
    },
  };
}
