/*
 * One indexer as it writes: files of its share from storage to environment_data, a commit per thousand ticks.
 * Prints where the time went, as one line of JSON.
 */
import type { TickData } from "../../src/contracts/index.ts";
import { Database } from "../../src/database/index.ts";
import { environmentData } from "../../src/pipeline/indexers/sql/environment-data.ts";
import { copyChunks } from "../../src/pipeline/indexers/sql/per-tick-table.ts";
import { readTicks } from "../../src/pipeline/ticks/read-ticks.ts";
import { FileSystemStorage } from "../../src/storage/index.ts";

const [url = "", schema = "", rootDirectory = "", runId = "", share = "0", shares = "1"] =
  process.argv.slice(2);
const ticksPerFlush = 1000;
await using database = await Database.connect({ url, poolMax: 1 });
const run = database.forRun(schema);
const storage = new FileSystemStorage({ rootDirectory });
const { files } = await storage.listBatchFiles(runId, undefined, 10_000);
const spent = { decode: 0, encode: 0, flush: 0 };
let rows = 0;

function* timed(chunks: Iterator<Buffer>): Generator<Buffer> {
  for (;;) {
    const start = performance.now();
    const { done, value } = chunks.next();
    spent.encode += performance.now() - start;
    if (done) return;
    yield value;
  }
}

async function flush(ticks: TickData[]): Promise<void> {
  const start = performance.now();
  rows += await run.transaction((tx) =>
    tx.copyIn(
      "COPY sim.environment_data (tick_number, cell_id, owner, x, y, value, state) FROM STDIN (FORMAT binary)",
      timed(copyChunks(environmentData, ticks)),
    ),
  );
  spent.flush += performance.now() - start;
}

const startedAt = Date.now();
let ticks: TickData[] = [];
for (const [index, file] of files.entries()) {
  if (index % Number(shares) !== Number(share)) continue;
  const start = performance.now();
  await using batch = await storage.openBatch(file.key);
  for await (const { message } of readTicks(batch)) ticks.push(message);
  spent.decode += performance.now() - start;
  while (ticks.length >= ticksPerFlush) {
    await flush(ticks.slice(0, ticksPerFlush));
    ticks = ticks.slice(ticksPerFlush);
  }
}
if (ticks.length > 0) await flush(ticks);
const { user, system } = process.cpuUsage();
console.log(
  `done ${JSON.stringify({ startedAt, endedAt: Date.now(), rows, ...spent, cpu: (user + system) / 1000, rss: process.resourceUsage().maxRSS / 1024 })}`,
);
