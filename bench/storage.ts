/*
 * Batch files: MB/s written and read, and the time to find single ones among many. To list them all is the scenario
 * `listing` of `npm run bench`.
 *
 *   node --import tsx bench/storage.ts [--files 50000] [--ticks 20000] [--folder /somewhere/large]
 *
 * MB/s are of records before compression, by the clock and by the processor time of this process (which a busy
 * machine does not change). Files that are looked for are empty: finding does not look into them. The
 * medians are of RUNS (default 5), with the folders in the system's cache.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { TickDataSchema } from "../src/contracts/index.ts";
import { type CodecName, FileSystemStorage } from "../src/storage/index.ts";
import { makeEmptyFiles, ticksPerFile } from "./storage/empty-files.ts";
import { worldRecords } from "./storage/world.ts";

const { values } = parseArgs({
  options: {
    files: { type: "string", default: "50000" },
    ticks: { type: "string", default: "20000" },
    folder: { type: "string", default: tmpdir() },
  },
});
const files = Number(values.files);
const ticks = Number(values.ticks);
const runs = Number(process.env.RUNS ?? 5);

interface Cost {
  readonly ms: number;
  readonly cpuMs: number;
}

async function medianCost(work: () => Promise<unknown>): Promise<Cost> {
  const samples: Cost[] = [];
  for (let run = 0; run < runs; run++) {
    const [startedMs, before] = [performance.now(), process.cpuUsage()];
    await work();
    const cpu = process.cpuUsage(before);
    samples.push({ ms: performance.now() - startedMs, cpuMs: (cpu.user + cpu.system) / 1000 });
  }
  const median = (field: keyof Cost) =>
    samples.map((sample) => sample[field]).sort((a, b) => a - b)[runs >> 1] ?? Number.NaN;
  return { ms: median("ms"), cpuMs: median("cpuMs") };
}

async function throughput(root: string, codec: CodecName): Promise<void> {
  const records = [...worldRecords(ticks)];
  const megabytes = records.reduce((sum, record) => sum + record.length, 0) / 1e6;
  const storage = new FileSystemStorage({ rootDirectory: join(root, codec), codec });
  let key = "";
  let stored = 0;
  let run = 0;
  const write = await medianCost(async () => {
    const file = await storage.writeBatch(`run-${run++}`, 0, ticks - 1, records);
    [key, stored] = [file.key, file.bytes];
  });
  const read = await medianCost(async () => {
    await using batch = await storage.openBatch(key);
    for await (const _ of batch.records());
  });
  const decode = await medianCost(async () => {
    await using batch = await storage.openBatch(key);
    for await (const _ of batch.messages(TickDataSchema));
  });
  const rate = ({ ms, cpuMs }: Cost) =>
    [ms, cpuMs].map((time) => (megabytes / (time / 1000)).toFixed(0)).join(" / ");
  const cells = [codec, (megabytes / (stored / 1e6)).toFixed(2), rate(write), rate(read), rate(decode)];
  console.log(`| ${cells.join(" | ")} |`);
}

async function lookUps(root: string): Promise<void> {
  makeEmptyFiles(root, "run-1", files);
  const storage = new FileSystemStorage({ rootDirectory: root });
  const middle = Math.floor(files / 2) * ticksPerFile;
  const range = () => storage.listBatchFiles("run-1", undefined, 10, middle, middle + 5 * ticksPerFile - 1);
  const rows: [string, () => Promise<unknown>][] = [
    ["the five files of a range in the middle", range],
    ["the first file", () => storage.listBatchFiles("run-1", undefined, 1)],
    ["the last file", () => storage.findLastBatchFile("run-1")],
  ];
  console.log(`\n| ${files.toLocaleString("en-US")} files | ms | CPU ms |`);
  console.log("| --- | --- | --- |");
  for (const [what, work] of rows) {
    await work();
    const cost = await medianCost(work);
    console.log(`| ${what} | ${cost.ms.toFixed(1)} | ${cost.cpuMs.toFixed(1)} |`);
  }
}

const root = await mkdtemp(join(values.folder, "tallyman-bench-storage-"));
try {
  console.log("MB/s, by the clock / by processor time\n");
  console.log("| codec | ratio | write, synced | read, verified | read and decode |");
  console.log("| --- | --- | --- | --- | --- |");
  for (const codec of ["none", "gzip", "brotli"] as const) await throughput(root, codec);
  await lookUps(join(root, "look-ups"));
} finally {
  await rm(root, { recursive: true });
}
