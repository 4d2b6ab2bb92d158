/*
 * One indexer as it writes: the batch files of its share from storage into environment_data, a commit per
 * thousand ticks. Prints where the time went, as one line of JSON.
 */
import type { TickData } from "../../src/contracts/index.ts";
import { Database, type Transaction } from "../../src/database/index.ts";
import { copyEnvironmentData } from "../../src/pipeline/indexers/sql/environment-data.ts";
import { readTicks } from "../../src/pipeline/ticks/read-ticks.ts";
import { FileSystemStorage } from "../../src/storage/index.ts";

/** What a writer says at its end. */
export interface WriterReport {
  readonly beganAtMs: number;
  readonly endedAtMs: number;
  readonly rows: number;
  /** Opening, verifying and decoding files. */
  readonly readMs: number;
  readonly encodeMs: number;
  /** Transactions as a whole, with encoding. */
  readonly flushMs: number;
  readonly processorMs: number;
  readonly peakMemoryMb: number;
}

const [url = "", schema = "", rootDirectory = "", runId = "", share = "0", shares = "1"] =
  process.argv.slice(2);
const ticksPerFlush = 1000;
const filesMax = 10_000;
const spent = { readMs: 0, encodeMs: 0, flushMs: 0 };

/** The chunks, with a clock that runs while they are made. */
function* timed(chunks: Iterable<Buffer>): Generator<Buffer> {
  const iterator = chunks[Symbol.iterator]();
  for (;;) {
    const start = performance.now();
    const { done, value } = iterator.next();
    spent.encodeMs += performance.now() - start;
    if (done) return;
    yield value;
  }
}

function withClock(tx: Transaction): Transaction {
  const copyIn = (text: string, chunks: Iterable<Buffer>) => tx.copyIn(text, timed(chunks));
  return { copyIn } as Transaction;
}

await using database = await Database.connect({ url, poolMax: 1 });
const run = database.forRun(schema);
const storage = new FileSystemStorage({ rootDirectory });
const { files } = await storage.listBatchFiles(runId, undefined, filesMax);
const ownFiles = files.filter((_, index) => index % Number(shares) === Number(share));

async function read(key: string): Promise<TickData[]> {
  const start = performance.now();
  await using batch = await storage.openBatch(key);
  const ticks: TickData[] = [];
  for await (const { message } of readTicks(batch)) ticks.push(message);
  spent.readMs += performance.now() - start;
  return ticks;
}

async function flush(ticks: readonly TickData[]): Promise<number> {
  const start = performance.now();
  const rows = await run.transaction((tx) => copyEnvironmentData(withClock(tx), ticks));
  spent.flushMs += performance.now() - start;
  return rows;
}

const beganAtMs = Date.now();
let buffered: TickData[] = [];
let rows = 0;
for (const { key } of ownFiles) {
  buffered.push(...(await read(key)));
  if (buffered.length < ticksPerFlush) continue;
  rows += await flush(buffered);
  buffered = [];
}
rows += await flush(buffered);
const { user, system } = process.cpuUsage();
const report: WriterReport = {
  beganAtMs,
  endedAtMs: Date.now(),
  rows,
  ...spent,
  processorMs: (user + system) / 1000,
  peakMemoryMb: process.resourceUsage().maxRSS / 1024,
};
console.log(`done ${JSON.stringify(report)}`);
