import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { CommandBus, type Worker, type WorkerOptions } from "../../src/commands/index.ts";
import { Database } from "../../src/database/index.ts";
import { deferred, sleep } from "../../src/runtime/index.ts";

/** What a scenario works with. */
export interface BenchContext {
  readonly bus: CommandBus;
  readonly database: Database;
  readonly url: string;
  readonly count: number;
}

export const domain = "bench";
const payload = { n: 1, pad: "x".repeat(200) };

/** No-op commands with about 220 bytes of data. */
export function commands(count: number) {
  return Array.from({ length: count }, () => ({ commandType: "T", data: payload }));
}

export function perSecond(count: number, sinceMs: number): number {
  return Math.round(count / ((performance.now() - sinceMs) / 1000));
}

export function ratio(a: number, b: number): number {
  return Number((a / b).toFixed(2));
}

async function walBytes(database: Database): Promise<number> {
  const { rows } = await database.query<{ bytes: number }>(
    "SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::int8 AS bytes",
  );
  return rows[0]?.bytes ?? 0;
}

/** One batch, one transaction. */
export async function enqueue({ bus, database, count }: BenchContext) {
  const list = commands(count);
  const wal = await walBytes(database);
  const startMs = performance.now();
  await bus.createBatch(domain, list);
  const perSecondEnqueued = perSecond(count, startMs);
  return {
    perSecond: perSecondEnqueued,
    walBytesPerCommand: Math.round(((await walBytes(database)) - wal) / count),
  };
}

/** Runs workers until `batchIds` are done; the rate counts a command when its end is durable. */
export async function drainBatches(
  { bus, count }: BenchContext,
  batchIds: readonly string[],
  workers: number,
  options: Partial<WorkerOptions> = {},
) {
  const started: Worker[] = [];
  const startMs = performance.now();
  const done = Promise.all(batchIds.map((batchId) => bus.waitForBatch(domain, batchId)));
  for (let i = 0; i < workers; i++) {
    const worker = bus.worker({ domain, handlers: { T: () => undefined }, concurrency: 24, ...options });
    started.push(worker);
    await worker.start();
  }
  await done;
  const rate = perSecond(count, startMs);
  await Promise.all(started.map((worker) => worker.stop()));
  return rate;
}

/** One batch, one worker in this process. */
export async function drain(context: BenchContext) {
  const { bus, database, count } = context;
  const batchId = await bus.createBatch(domain, commands(count));
  await database.query("CHECKPOINT");
  const wal = await walBytes(database);
  const rate = await drainBatches(context, [batchId], 1);
  return {
    perSecond: rate,
    walBytesPerCommand: Math.round(((await walBytes(database)) - wal) / count),
    rssMegabytes: Math.round(process.memoryUsage.rss() / 1e6),
  };
}

/** The most memory that a worker takes in a process of its own, while it drains one batch. */
export async function workerMemory({ bus, url, count }: BenchContext) {
  const batchId = await bus.createBatch(domain, commands(count));
  const child = new URL("./worker.child.ts", import.meta.url).pathname;
  const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", child, url, batchId]);
  return JSON.parse(stdout) as { peakMegabytes: number };
}

/** Eight workers on one batch, then on batches of a hundred commands. */
export async function hotBatch(context: BenchContext) {
  const { bus, count } = context;
  const one = await bus.createBatch(domain, commands(count));
  const hot = await drainBatches(context, [one], 8);
  const many: string[] = [];
  for (let from = 0; from < count; from += 100) many.push(await bus.createBatch(domain, commands(100)));
  const spread = await drainBatches(context, many, 8);
  return { hotPerSecond: hot, manyPerSecond: spread, ratio: ratio(hot, spread) };
}

/** From send() to the handler's start, at a thousand commands a second for five seconds. */
export async function pickUpLatency({ bus, url }: BenchContext) {
  await using database = await Database.connect({ url, listenUrl: null });
  await using sender = new CommandBus(database);
  const rate = 1_000;
  const total = rate * 5;
  const sentMs = new Map<string, number>();
  const latencies: number[] = [];
  const all = deferred();
  await using worker = bus.worker({
    domain,
    concurrency: 24,
    handlers: {
      T: ({ data }) => {
        latencies.push(performance.now() - (sentMs.get(String((data as { n: number }).n)) ?? 0));
        if (latencies.length === total) all.resolve();
      },
    },
  });
  await worker.start();
  await sleep(500);
  const startMs = performance.now();
  const sends: Promise<unknown>[] = [];
  for (let n = 0; n < total; n++) {
    const dueMs = startMs + (n * 1000) / rate;
    if (dueMs > performance.now()) await sleep(dueMs - performance.now());
    sentMs.set(String(n), performance.now());
    sends.push(sender.send(domain, "T", { data: { n } }));
  }
  await Promise.all(sends);
  await all.promise;
  latencies.sort((a, b) => a - b);
  const at = (share: number) => Number((latencies[Math.floor(total * share)] ?? 0).toFixed(2));
  return {
    sentPerSecond: Math.round(total / ((performance.now() - startMs) / 1000)),
    p50Ms: at(0.5),
    p99Ms: at(0.99),
  };
}
