/*
 * Batch files: MB/s written and read, and the time to list many of them, beside a plain walk through the same
 * folders.
 *
 *   node --import tsx bench/storage.ts [--files 50000] [--ticks 20000] [--folder /somewhere/large]
 *
 * MB/s are of records before compression, by the clock and by the processor time of this process (which a busy
 * machine does not change). Files of the listing are empty: listing does not look into them. The
 * medians are of RUNS (default 5), with the folders in the system's cache for both sides.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { TickDataSchema } from "../src/contracts/index.ts";
import { type CodecName, FileSystemStorage } from "../src/storage/index.ts";
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
const ticksPerFile = 100;

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

/** As the storage would lay them out, without a sync for each. */
function makeFiles(root: string): void {
  let folder = "";
  for (let index = 0; index < files; index++) {
    const first = index * ticksPerFile;
    const [outer, inner] = [Math.floor(first / 1e8), Math.floor((first % 1e8) / 1e5)];
    const name = `batch_${String(first).padStart(19, "0")}_${String(first + ticksPerFile - 1).padStart(19, "0")}.pb.br`;
    const path = join(
      root,
      "run-1/raw",
      String(outer).padStart(11, "0"),
      String(inner).padStart(3, "0"),
      name,
    );
    if (dirname(path) !== folder) {
      folder = dirname(path);
      mkdirSync(folder, { recursive: true });
    }
    writeFileSync(path, "");
  }
}

/** The walk that one would write: every path under a folder. */
async function plainWalk(folder: string, paths: string[] = []): Promise<string[]> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await plainWalk(path, paths);
    else paths.push(path);
  }
  return paths;
}

async function listing(root: string): Promise<void> {
  makeFiles(root);
  const storage = new FileSystemStorage({ rootDirectory: root });
  const everything = async () => {
    let count = 0;
    for (let token: string | undefined; ; ) {
      const page = await storage.listBatchFiles("run-1", token, 10_000);
      count += page.files.length;
      if (!page.truncated) break;
      token = page.nextToken;
    }
    if (count !== files) throw new Error(`${count} files listed, of ${files}`);
  };
  const middle = Math.floor(files / 2) * ticksPerFile;
  const range = () => storage.listBatchFiles("run-1", undefined, 10, middle, middle + 5 * ticksPerFile - 1);
  const rows: [string, () => Promise<unknown>][] = [
    ["plain walk, names only", () => plainWalk(root)],
    ["all files in tick order, pages of 10,000", everything],
    ["the five files of a range in the middle", range],
    ["the first file", () => storage.listBatchFiles("run-1", undefined, 1)],
    ["the last file", () => storage.findLastBatchFile("run-1")],
  ];
  console.log(`\n| ${files.toLocaleString("en-US")} files | ms | CPU ms | plain walk ÷ this (clock, CPU) |`);
  console.log("| --- | --- | --- | --- |");
  let walk: Cost | undefined;
  for (const [what, work] of rows) {
    await work();
    const cost = await medianCost(work);
    walk ??= cost;
    const ratios = `${(walk.ms / cost.ms).toFixed(2)}, ${(walk.cpuMs / cost.cpuMs).toFixed(2)}`;
    console.log(`| ${what} | ${cost.ms.toFixed(1)} | ${cost.cpuMs.toFixed(1)} | ${ratios} |`);
  }
}

const root = await mkdtemp(join(values.folder, "tallyman-bench-storage-"));
try {
  console.log("MB/s, by the clock / by processor time\n");
  console.log("| codec | ratio | write, synced | read, verified | read and decode |");
  console.log("| --- | --- | --- | --- | --- |");
  for (const codec of ["none", "gzip", "brotli"] as const) await throughput(root, codec);
  await listing(join(root, "listing"));
} finally {
  await rm(root, { recursive: true });
}
