import { setTimeout as sleep } from "node:timers/promises";
import type { Role, Slot } from "../fleet/plan.ts";
import type { ProcessSlot } from "../fleet/process-slot.ts";
import { between, type Fault, type FaultOutcome, holdsWithin, slotsWith } from "./fault.ts";

/** Places in the product where a process can be made to end itself, by the role that passes them. */
const crashPoints: Readonly<Partial<Record<Role, readonly string[]>>> = {
  "command-worker": [
    "commands.worker.after-claim",
    "commands.outcomes.before-flush",
    "commands.outcomes.after-flush",
    "commands.transaction.before-settle",
    "commands.transaction.before-commit",
  ],
  coordinator: ["scheduler.assigned"],
  "scheduler-worker": ["scheduler.worker.before-fire", "scheduler.worker.after-fire"],
  "tick-producer": [
    "storage.temporary-synced",
    "storage.linked",
    "topics.after-send",
    "persistence.after-write",
    "persistence.after-announce",
  ],
  indexer: ["indexer.after-write", "indexer.after-ack", "indexer.after-commit", "topics.before-ack"],
};
const passesMax = 6;
const crashWeight = 20;
const crashMs = 4_000;
/** A process that has much to do may come by its crash point later. */
const crashWithinMs = 12_000;
/** A process that is about to be ready is waited for. */
const readyWithinMs = 3_000;
const poolWithinMs = 5_000;
/** Longer than every lease, claim and heartbeat of the fleet. */
const pause = { lowMs: 2_200, highMs: 3_500 };
/** A leader sends a statement of its term within this time. */
const leaderWithinMs = 600;
/** About how long a process takes to be ready again. */
const restartMs = 2_500;
const skewMsMax = 3_600_000;

/** What can happen to a process. */
export function processFaults(slots: readonly Slot[]): Fault[] {
  const all = slots.map(({ name }) => name);
  const consumers = slotsWith(slots, "command-worker", "coordinator", "scheduler-worker", "indexer");
  const withClock = slotsWith(slots, "command-worker", "coordinator", "scheduler-worker");
  return [
    ...crashFaults(slots),
    endFault({ name: "kill", targets: all, weight: 10, end: (process) => process.end("SIGKILL") }),
    endFault({ name: "stop", targets: all, weight: 3, end: (process) => process.end("SIGTERM") }),
    endFault({
      name: "clock-skewed",
      targets: withClock,
      weight: 2,
      end: (process, random) =>
        process.end("SIGKILL", { clockOffsetMs: Math.round(between(-skewMsMax, skewMsMax, random)) }),
    }),
    pauseFault(consumers),
    leaderPaused(slots),
    poolExhausted(all),
  ];
}

interface End {
  readonly name: string;
  readonly targets: readonly string[];
  readonly weight: number;
  end(process: ProcessSlot, random: number): void;
}

/** A process ends; the next one takes its place. */
function endFault({ name, targets, weight, end }: End): Fault {
  return {
    name,
    targets,
    lastsMs: restartMs,
    weight,
    inject: async (stage, { target, random }) => {
      const { process } = stage.member(target);
      if (!(await holdsWithin(readyWithinMs, () => process.isReady))) return "missed";
      end(process, random);
      return "done";
    },
  };
}

/** A process stands still until others have taken it for dead, and then goes on as if nothing had happened. */
function pauseFault(targets: readonly string[]): Fault {
  return {
    name: "pause",
    targets,
    lastsMs: pause.highMs + 500,
    weight: 8,
    inject: async (stage, { target, random }) => {
      const { process } = stage.member(target);
      if (!(await holdsWithin(readyWithinMs, () => process.isReady))) return "missed";
      process.signal("SIGSTOP");
      await sleep(between(pause.lowMs, pause.highMs, random));
      process.signal("SIGCONT");
      return "done";
    },
  };
}

/** The leader stands still with a statement of its term on the way; both go on when others have taken it for dead. */
function leaderPaused(slots: readonly Slot[]): Fault {
  return {
    name: "leader-paused",
    targets: slotsWith(slots, "coordinator"),
    lastsMs: leaderWithinMs + pause.highMs + 500,
    weight: 4,
    inject: async (stage, { target, random }) => {
      const { process, network } = stage.member(target);
      const isHeld = network.holdFrom("scheduler_segment").then(() => true);
      const isLeader = process.isReady && (await Promise.race([isHeld, sleep(leaderWithinMs, false)]));
      if (isLeader) {
        process.signal("SIGSTOP");
        await sleep(between(pause.lowMs, pause.highMs, random));
        process.signal("SIGCONT");
      }
      network.release();
      return isLeader ? "done" : "missed";
    },
  };
}

/** All connections of a process's pool are busy until others have taken it for dead. */
function poolExhausted(targets: readonly string[]): Fault {
  return {
    name: "pool-exhausted",
    targets,
    lastsMs: poolWithinMs,
    weight: 3,
    inject: async (stage, { target, random }) =>
      (await stage.member(target).process.ask("pool-exhausted", random, poolWithinMs)) ? "done" : "missed",
  };
}

/** A process ends itself at one of its crash points, at one of the next times that it passes. */
function crashFaults(slots: readonly Slot[]): Fault[] {
  const points = Object.entries(crashPoints) as [Role, readonly string[]][];
  return points.flatMap(([role, names]) =>
    names.map((point) => ({
      name: `crash:${point}`,
      targets: slotsWith(slots, role),
      lastsMs: crashMs,
      weight: crashWeight / points.length / names.length,
      inject: async (stage, { target, random }): Promise<FaultOutcome> => {
        const { process } = stage.member(target);
        if (!(await holdsWithin(readyWithinMs, () => process.isReady))) return "missed";
        const before = process.deaths.atCrashPoint;
        void process.arm(`${point}:${1 + Math.floor(random * passesMax)}`, crashWithinMs);
        const hasCrashed = await holdsWithin(crashWithinMs, () => process.deaths.atCrashPoint > before);
        return hasCrashed ? "done" : "missed";
      },
    })),
  );
}
