import { CommandBus } from "../../src/commands/index.ts";
import type { Database } from "../../src/database/index.ts";
import { sleep } from "../../src/runtime/index.ts";
import { SchedulerWorker } from "../../src/scheduler/index.ts";
import { assignSegments, firesPerStatement, firesSoFar, workers } from "./seed.ts";

/** Starts the scheduler workers in this process and returns when each has its segments; disposing stops them. */
export async function startSchedulerWorkers(database: Database): Promise<AsyncDisposable> {
  const bus = new CommandBus(database);
  const started = workers.map(
    (workerId) => new SchedulerWorker(database, bus, { workerId, firesMax: firesPerStatement }),
  );
  for (const worker of started) await worker.start();
  await assignSegments(database);
  while (started.some(({ segments }) => segments.length === 0)) await sleep(10);
  return {
    async [Symbol.asyncDispose]() {
      for (const each of [...started, bus]) await each[Symbol.asyncDispose]();
    },
  };
}

/** Fires that became durable in so many seconds. */
export async function firesWithin(database: Database, seconds: number): Promise<number> {
  const before = await firesSoFar(database);
  await sleep(seconds * 1_000);
  return (await firesSoFar(database)) - before;
}
