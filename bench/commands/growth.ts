import { Database } from "../../src/database/index.ts";
import { type BenchContext, commands, domain, drainBatches, perSecond, ratio } from "./scenarios.ts";

/** What is drained to measure; small beside what lies around it. */
const sample = 20_000;

/** Drains a sample, which goes before whatever else waits, by one worker; the rate per second. */
async function sampleRate(context: BenchContext): Promise<number> {
  const batchId = await context.bus.createBatch(domain, commands(sample), { priority: 1 });
  return drainBatches({ ...context, count: sample }, [batchId], 1);
}

/** The same work with 10,000 and with `count` commands waiting behind it. */
export async function backlog(context: BenchContext) {
  const { bus, count } = context;
  await bus.sendMany(domain, commands(10_000));
  const small = await sampleRate(context);
  for (let stored = 10_000; stored < count; stored += 100_000) await bus.sendMany(domain, commands(100_000));
  const large = await sampleRate(context);
  return { smallPerSecond: small, largePerSecond: large, ratio: ratio(large, small) };
}

/** The same work on empty tables and beside `count` finished commands with their audit. */
export async function history(context: BenchContext) {
  const { database, count } = context;
  const empty = await sampleRate(context);
  for (let stored = 0; stored < count; stored += 100_000) await finishMany(database, 100_000);
  await database.query("VACUUM ANALYZE tallyman.command_bus_command");
  await database.query("CHECKPOINT");
  const full = await sampleRate(context);
  return { emptyPerSecond: empty, fullPerSecond: full, ratio: ratio(full, empty), rows: count };
}

/** Finished commands as a drain leaves them, in groups of a thousand. */
export async function finishMany(database: Database, count: number): Promise<void> {
  await database.query(
    `WITH c AS (
       INSERT INTO tallyman.command_bus_command (command_id, correlation_id, domain, command_type, status, finished_at, attempts, data)
       SELECT gen_random_uuid(), gen_random_uuid(), 'past', 'T', 'COMPLETED', clock_timestamp(), 1,
              jsonb_build_object('n', n, 'pad', repeat('x', 200))
       FROM generate_series(1, $1::integer) n RETURNING id, command_id)
     INSERT INTO tallyman.command_bus_audit_group (domain, event_type, first_row, last_row, command_rows, command_ids)
     SELECT 'past', e, min(c.id), max(c.id), array_agg(c.id), array_agg(c.command_id)
     FROM c, unnest(ARRAY['SENT', 'RECEIVED', 'COMPLETED']) e GROUP BY e, c.id / 1000`,
    [count],
  );
}

/** Drains for two minutes, while a transaction keeps every dead row alive, against drains without it. */
export async function pinned(context: BenchContext) {
  const normal = await sampleRate(context);
  await using other = await Database.connect({ url: context.url, listenUrl: null });
  const rates: number[] = [];
  await other.transaction(async (tx) => {
    await tx.query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    await tx.query("SELECT FROM tallyman.command_bus_queue");
    const startMs = performance.now();
    while (performance.now() - startMs < 120_000) rates.push(await sampleRate(context));
  });
  const last = rates.slice(-3).reduce((sum, rate) => sum + rate, 0) / Math.min(3, rates.length);
  return {
    normalPerSecond: normal,
    lastPerSecond: Math.round(last),
    drains: rates.length,
    ratio: ratio(last, normal),
  };
}

/** One batch against a COPY of the same rows into the same table, with its key, foreign key and indexes. */
export async function copy({ bus, database, count }: BenchContext) {
  const startMs = performance.now();
  const batchId = await bus.createBatch(domain, commands(count));
  const enqueued = perSecond(count, startMs);
  const { rows } = await database.query<{ line: string }>(
    `SELECT concat_ws(E'\\t', id, command_id, batch_id, correlation_id, domain, command_type, data) AS line
     FROM tallyman.command_bus_command WHERE batch_id = $1 ORDER BY id`,
    [batchId],
  );
  const text = Buffer.from(rows.map(({ line }) => `${line}\n`).join(""));
  await database.query("TRUNCATE tallyman.command_bus_command");
  const copyMs = performance.now();
  await database.transaction((tx) =>
    tx.copyIn(
      "COPY tallyman.command_bus_command (id, command_id, batch_id, correlation_id, domain, command_type, data) FROM STDIN",
      [text],
    ),
  );
  const copied = perSecond(count, copyMs);
  return { enqueuedPerSecond: enqueued, copiedPerSecond: copied, ratio: ratio(enqueued, copied) };
}
