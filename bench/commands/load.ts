/** Commands to measure with: they do nothing, and carry some 220 bytes. */
import { CommandBus } from "../../src/commands/index.ts";
import type { Database } from "../../src/database/index.ts";

export const domain = "bench";
export const commandType = "T";
export const payload = { n: 1, pad: "x".repeat(200) };
/** Handlers that run at the same time, ours and the peers'. */
export const concurrency = 24;

export function commands(count: number) {
  return Array.from({ length: count }, () => ({ commandType, data: payload }));
}

/** Starts workers in this process and returns when the batches are done, that is when each end is durable. */
export async function drainBatches(bus: CommandBus, batchIds: readonly string[], workers = 1): Promise<void> {
  const done = Promise.all(batchIds.map((batchId) => bus.waitForBatch(domain, batchId)));
  const started = Array.from({ length: workers }, () =>
    bus.worker({ domain, handlers: { [commandType]: () => undefined }, concurrency }),
  );
  try {
    for (const worker of started) await worker.start();
    await done;
  } finally {
    await Promise.all(started.map((worker) => worker.stop()));
  }
}

/** One batch, which goes before whatever else waits, drained by one worker. */
export async function drainOne(database: Database, count: number): Promise<number> {
  await using bus = new CommandBus(database);
  const batchId = await bus.createBatch(domain, commands(count), { priority: 1 });
  await drainBatches(bus, [batchId]);
  return count;
}

/** Commands that wait. */
export async function fillBacklog(database: Database, count: number): Promise<void> {
  await using bus = new CommandBus(database);
  const atOnce = 100_000;
  for (let stored = 0; stored < count; stored += atOnce)
    await bus.sendMany(domain, commands(Math.min(atOnce, count - stored)));
}

/** Finished commands with their audit, as a drain leaves them, in groups of a thousand. */
export async function fillHistory(database: Database, count: number): Promise<void> {
  const atOnce = 100_000;
  for (let stored = 0; stored < count; stored += atOnce)
    await database.query(
      `WITH c AS (
         INSERT INTO tallyman.command_bus_command (command_id, correlation_id, domain, command_type, status, finished_at, attempts, data)
         SELECT gen_random_uuid(), gen_random_uuid(), 'past', 'T', 'COMPLETED', clock_timestamp(), 1,
                jsonb_build_object('n', n, 'pad', repeat('x', 200))
         FROM generate_series(1, $1::integer) n RETURNING id, command_id)
       INSERT INTO tallyman.command_bus_audit_group (domain, event_type, first_row, last_row, command_rows, command_ids)
       SELECT 'past', e, min(c.id), max(c.id), array_agg(c.id), array_agg(c.command_id)
       FROM c, unnest(ARRAY['SENT', 'RECEIVED', 'COMPLETED']) e GROUP BY e, c.id / 1000`,
      [Math.min(atOnce, count - stored)],
    );
}
