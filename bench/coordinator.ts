/**
 * How a fleet settles: `node --import tsx bench/coordinator.ts [--json]`. Failover is a scenario of `npm run bench`.
 *
 * - movement: segments that change hands when workers join and leave one by one, beside the least that must.
 * - settle: 200 workers register for 1,024 segments, until all are owned with a spread of one at most.
 */
import { parseArgs } from "node:util";
import { configureLogging, sleep } from "../src/runtime/index.ts";
import { Coordinators, Fleet } from "../src/scheduler/index.ts";
import { isSettled, startCoordinator, startWorker, timeUntil } from "./coordinator/fleet.ts";
import { startBenchServer } from "./harness/server.ts";

const { values: flags } = parseArgs({ options: { json: { type: "boolean" } } });
configureLogging({ level: "error" });
await using server = await startBenchServer();
const { database, url } = server;
const fleet = new Fleet(database);
const coordinators = new Coordinators(database);

async function movement() {
  await using leader = await startCoordinator(url, "movement");
  const moved = () => leader.coordinator.getMetrics().segments_assigned ?? 0;
  const workers: (() => Promise<unknown>)[] = [];
  const steps: { step: string; moved: number; least: number }[] = [];
  const measure = async (step: string, least: () => number) => {
    const before = moved();
    await timeUntil(() => isSettled(fleet, workers.length));
    await sleep(300); // whatever moves without need would move now
    steps.push({ step, moved: moved() - before, least: least() });
  };
  for (let count = 1; count <= 6; count++) {
    workers.push(await startWorker(fleet, `mover-${count}`));
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
  await using _leader = await startCoordinator(url, "settle");
  await timeUntil(async () => (await coordinators.findLeader()) !== undefined);
  const startMs = performance.now();
  const ids = Array.from({ length: workerCount }, (_, i) => `settler-${i}`);
  const workers = await Promise.all(ids.map((id) => startWorker(fleet, id)));
  const registeredMs = Math.round(performance.now() - startMs);
  await timeUntil(() => isSettled(fleet, workerCount));
  const settledMs = Math.round(performance.now() - startMs);
  await Promise.all(workers.map((leave) => leave()));
  return { workers: workerCount, segments: segmentCount, registeredMs, settledMs };
}

const result = { movement: await movement(), settle: await settle(200, 1_024) };
if (flags.json) console.log(JSON.stringify(result, null, 2));
else {
  console.table(result.movement);
  console.table([result.settle]);
}
