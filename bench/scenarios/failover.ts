import { sleep } from "../../src/runtime/index.ts";
import { Coordinators, Fleet } from "../../src/scheduler/index.ts";
import { startChild } from "../../src/testing/index.ts";
import {
  isSettled,
  leaseMs,
  shares,
  startCoordinator,
  startWorker,
  timeUntil,
} from "../coordinator/fleet.ts";
import type { Contender, Context, Scenario } from "../harness/scenario.ts";
import { delayFigures } from "../harness/statistics.ts";

interface Size {
  readonly rounds: number;
}

type Rounds = (context: Context<Size>) => Promise<number[]>;

/** The delay of each round. */
function delaysOf(rounds: Rounds): Contender<Size>["run"] {
  return async (context) => {
    let delaysMs: number[] = [];
    const sample = await context.measure(async () => {
      delaysMs = await rounds(context);
      return delaysMs.length;
    });
    return { ...sample, ...delayFigures(delaysMs) };
  };
}

const leaderStops: Rounds = async ({ url, size }) => {
  const delaysMs: number[] = [];
  let leader = await startCoordinator(url, "handover-0");
  for (let round = 1; round <= size.rounds; round++) {
    await timeUntil(() => leader.coordinator.term !== undefined);
    const follower = await startCoordinator(url, `handover-${round}`);
    await timeUntil(() => follower.coordinator.state === "RUNNING");
    await sleep(200); // until it has looked at the lease and waits
    const stopped = leader[Symbol.asyncDispose]();
    delaysMs.push(await timeUntil(() => follower.coordinator.term !== undefined));
    await stopped;
    leader = follower;
  }
  await leader[Symbol.asyncDispose]();
  return delaysMs;
};

const workerLeaves: Rounds = async ({ url, database, size }) => {
  const fleet = new Fleet(database);
  await using _leader = await startCoordinator(url, "worker-handover");
  const stayers = [await startWorker(fleet, "stay-1"), await startWorker(fleet, "stay-2")];
  const delaysMs: number[] = [];
  for (let round = 0; round < size.rounds; round++) {
    const leave = await startWorker(fleet, `leaver-${round}`);
    await timeUntil(() => isSettled(fleet, 3));
    const sinceLeaving = await leave();
    await timeUntil(async () => (await shares(fleet)).isWhole);
    delaysMs.push(sinceLeaving());
  }
  for (const leave of stayers) await leave();
  return delaysMs;
};

const leaderIsKilled: Rounds = async ({ url, database, size }) => {
  const coordinators = new Coordinators(database);
  const delaysMs: number[] = [];
  for (let round = 0; round < size.rounds; round++) {
    const args = ["--database-url", url, "coordinator", "--port", "0", "--id", `victim-${round}`];
    await using victim = startChild(new URL("../../src/cli/main.ts", import.meta.url), { args });
    await victim.line("Coordinator ");
    await timeUntil(async () => (await coordinators.findLeader())?.coordinatorId === `victim-${round}`);
    await using follower = await startCoordinator(url, `follower-${round}`);
    await sleep(200 + Math.random() * 3_000); // anywhere between two renewals
    victim.kill("SIGKILL");
    delaysMs.push(await timeUntil(() => follower.coordinator.term !== undefined));
  }
  return delaysMs;
};

const figures = { p99Ms: "p99 ms", p50Ms: "p50 ms", maxMs: "highest ms" };

export const failoverLeader: Scenario<Size> = {
  name: "failover-leader",
  what: "The leading coordinator stops, until another leads.",
  sizes: { quick: { rounds: 20 }, full: { rounds: 100 } },
  figures,
  goals: [{ figure: "p99Ms", below: 250 }],
  contenders: [
    {
      name: "Tallyman",
      kind: "ours",
      settings: `two coordinators in one process, each with a pool of its own; a lease of ${leaseMs} ms`,
      run: delaysOf(leaderStops),
    },
  ],
};

export const failoverWorker: Scenario<Size> = {
  name: "failover-worker",
  what: "A scheduler worker leaves, until others own its segments.",
  sizes: { quick: { rounds: 20 }, full: { rounds: 100 } },
  figures,
  goals: [{ figure: "p99Ms", below: 250 }],
  contenders: [
    {
      name: "Tallyman",
      kind: "ours",
      settings: "one coordinator; one of three workers leaves, 100 segments",
      run: delaysOf(workerLeaves),
    },
  ],
};

export const failoverKill: Scenario<Size> = {
  name: "failover-kill",
  what: "The process of the leading coordinator is killed, until another leads.",
  sizes: { quick: { rounds: 1 }, full: { rounds: 10 } },
  figures: { maxMs: "highest ms", p50Ms: "p50 ms" },
  goals: [{ figure: "maxMs", below: leaseMs + 1_000 }],
  contenders: [
    {
      name: "Tallyman",
      kind: "ours",
      settings: `a lease of ${leaseMs} ms, the default poll of followers; SIGKILL at any time between two renewals`,
      run: delaysOf(leaderIsKilled),
    },
  ],
};
