/**
 * Leader and fleet: `node --import tsx bench/coordinator.ts [--rounds 30] [--kills 3] [--json]`.
 *
 * - handover: a leader stops, until the follower leads; a worker leaves, until others own its segments.
 * - takeover: the leader's process is killed, until the follower leads, beside its lease.
 * - movement: segments that change hands when workers join and leave one by one, beside the least that must.
 * - settle: 200 workers register for 1,024 segments, until all are owned with a spread of one at most.
 */
import { parseArgs } from "node:util";
import { Database } from "../src/database/index.ts";
import { configureLogging, sleep } from "../src/runtime/index.ts";
import { Coordinator, Coordinators, Fleet } from "../src/scheduler/index.ts";
import { startChild } from "../src/testing/index.ts";
import { startBenchServer } from "./harness/server.ts";

const { values: flags } = parseArgs({
  options: {
    rounds: { type: "string", default: "30" },
    kills: { type: "string", default: "3" },
    json: { type: "boolean" },
  },
});
configureLogging({ level: "error" });
const leaseMs = 10_000;
const pollMs = 2;
await using server = await startBenchServer();
const { database } = server;
const fleet = new Fleet(database);
const coordinators = new Coordinators(database);

/** Time until a condition holds. */
async function timeUntil(look: () => boolean | Promise<boolean>): Promise<number> {
  const startMs = performance.now();
  while (!(await look())) await sleep(pollMs);
  return performance.now() - startMs;
}

function percentiles(times: readonly number[]) {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN);
  return { rounds: times.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) };
}

/** A coordinator with a pool and a listener of its own, as in another process. */
async function startCoordinator(coordinatorId: string) {
  const own = await Database.connect({ url: server.url });
  const coordinator = new Coordinator(own, { coordinatorId, port: 8082, leaseMs });
  await coordinator.start();
  return {
    coordinator,
    async [Symbol.asyncDispose]() {
      await coordinator.stop();
      await own.close();
    },
  };
}

/** A worker that does nothing but give back what it is asked for, whenever its segments change. */
async function startWorker(workerId: string) {
  await fleet.register(workerId, { cap: null });
  let isStopped = false;
  const loop = (async () => {
    while (!isStopped) {
      const { revoking } = await fleet.heartbeat(workerId);
      if (revoking.length > 0) await fleet.release(workerId, revoking);
      await sleep(revoking.length > 0 ? 10 : 100);
    }
  })();
  /** Ends what it does, then leaves; returns the time since it began to leave. */
  return async () => {
    isStopped = true;
    await loop;
    const startMs = performance.now();
    await fleet.leave(workerId);
    return () => performance.now() - startMs;
  };
}

async function shares(): Promise<{ counts: number[]; isWhole: boolean }> {
  const map = await fleet.segmentMap();
  const counts = new Map<string, number>();
  for (const { workerId } of map) if (workerId) counts.set(workerId, (counts.get(workerId) ?? 0) + 1);
  return { counts: [...counts.values()], isWhole: map.every(({ status }) => status === "ASSIGNED") };
}

async function isSettled(workers: number): Promise<boolean> {
  const { counts, isWhole } = await shares();
  return isWhole && counts.length === workers && Math.max(...counts) - Math.min(...counts) <= 1;
}

async function leaderHandover(rounds: number) {
  const times: number[] = [];
  let leader = await startCoordinator("handover-0");
  for (let round = 1; round <= rounds; round++) {
    await timeUntil(() => leader.coordinator.term !== undefined);
    const follower = await startCoordinator(`handover-${round}`);
    await timeUntil(() => follower.coordinator.state === "RUNNING");
    await sleep(200); // until it has looked at the lease and waits
    const stopped = leader[Symbol.asyncDispose]();
    times.push(await timeUntil(() => follower.coordinator.term !== undefined));
    await stopped;
    leader = follower;
  }
  await leader[Symbol.asyncDispose]();
  return percentiles(times);
}

async function workerHandover(rounds: number) {
  await using _leader = await startCoordinator("worker-handover");
  const stayers = [await startWorker("stay-1"), await startWorker("stay-2")];
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const leave = await startWorker(`leaver-${round}`);
    await timeUntil(() => isSettled(3));
    const sinceLeaving = await leave();
    await timeUntil(async () => (await shares()).isWhole);
    times.push(sinceLeaving());
  }
  for (const leave of stayers) await leave();
  return percentiles(times);
}

async function takeover(kills: number) {
  const times: number[] = [];
  for (let kill = 0; kill < kills; kill++) {
    const args = ["--database-url", server.url, "coordinator", "--port", "0", "--id", `victim-${kill}`];
    await using victim = startChild(new URL("../src/cli/main.ts", import.meta.url), { args });
    await victim.line("Coordinator ");
    await timeUntil(async () => (await coordinators.findLeader())?.coordinatorId === `victim-${kill}`);
    await using follower = await startCoordinator(`follower-${kill}`);
    await sleep(200 + Math.random() * 3_000); // anywhere between two renewals
    victim.kill("SIGKILL");
    times.push(await timeUntil(() => follower.coordinator.term !== undefined));
  }
  return { leaseMs, ...percentiles(times) };
}

async function movement() {
  await using leader = await startCoordinator("movement");
  const moved = () => leader.coordinator.getMetrics().segments_assigned ?? 0;
  const workers: (() => Promise<unknown>)[] = [];
  const steps: { step: string; moved: number; least: number }[] = [];
  const measure = async (step: string, least: () => number) => {
    const before = moved();
    await timeUntil(() => isSettled(workers.length));
    await sleep(300); // whatever moves without need would move now
    steps.push({ step, moved: moved() - before, least: least() });
  };
  for (let count = 1; count <= 6; count++) {
    workers.push(await startWorker(`mover-${count}`));
    await measure(`join: ${count - 1} to ${count}`, () => Math.floor(100 / count));
  }
  while (workers.length > 1) {
    const id = `mover-${workers.length}`;
    const held = (await fleet.segmentsOf(id)).length;
    await workers.pop()?.();
    await measure(`leave: ${workers.length + 1} to ${workers.length}`, () => held);
  }
  for (const leave of workers) await leave();
  return steps;
}

async function settle(workerCount: number, segmentCount: number) {
  await fleet.setSegmentCount(segmentCount);
  await using _leader = await startCoordinator("settle");
  await timeUntil(async () => (await coordinators.findLeader()) !== undefined);
  const startMs = performance.now();
  const ids = Array.from({ length: workerCount }, (_, i) => `settler-${i}`);
  const workers = await Promise.all(ids.map(startWorker));
  const registeredMs = Math.round(performance.now() - startMs);
  await timeUntil(() => isSettled(workerCount));
  const settledMs = Math.round(performance.now() - startMs);
  await Promise.all(workers.map((leave) => leave()));
  return { workers: workerCount, segments: segmentCount, registeredMs, settledMs };
}

const rounds = Number(flags.rounds);
const result = {
  leaderHandover: await leaderHandover(rounds),
  workerHandover: await workerHandover(rounds),
  takeover: await takeover(Number(flags.kills)),
  movement: await movement(),
  settle: await settle(200, 1_024),
};
if (flags.json) console.log(JSON.stringify(result, null, 2));
else {
  console.table({ "leader stops": result.leaderHandover, "worker leaves": result.workerHandover });
  console.table({ "leader is killed": result.takeover });
  console.table(result.movement);
  console.table([result.settle]);
}
