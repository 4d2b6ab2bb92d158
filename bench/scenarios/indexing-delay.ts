import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { BatchInfoSchema, SimulationMetadataSchema, TickDataSchema } from "../../src/contracts/index.ts";
import { MetadataWriter } from "../../src/coordination/index.ts";
import { type Database, runSchemaName } from "../../src/database/index.ts";
import { createWorld, EnvironmentIndexer, forgetDeaths, sample, step } from "../../src/pipeline/index.ts";
import { sleep } from "../../src/runtime/index.ts";
import { FileSystemStorage } from "../../src/storage/index.ts";
import { PostgresTopics } from "../../src/topics/index.ts";
import type { Context, Scenario } from "../harness/scenario.ts";
import { delayFigures } from "../harness/statistics.ts";

interface Size {
  readonly files: number;
  readonly filesPerSecond: number;
}

const flushTimeoutMs = 100;
const ticksPerFile = 10;
const runId = "delay";

function nextTicks(world: ReturnType<typeof createWorld>) {
  return Array.from({ length: ticksPerFile }, () => {
    const tick = { ...sample(world), simulationRunId: runId, capturedAtMs: 0n };
    forgetDeaths(world);
    step(world);
    return tick;
  });
}

/** Writes files at an even pace and announces them; returns when each was written, by its name. */
async function writeSteadily(
  storage: FileSystemStorage,
  topics: PostgresTopics,
  { files, filesPerSecond }: Size,
): Promise<Map<string, number>> {
  const writer = await topics.writer(BatchInfoSchema, { topic: "batch-topic", runId });
  const world = createWorld({ width: 32, height: 32, seed: 7 });
  const writtenAtMs = new Map<string, number>();
  const beganMs = performance.now();
  for (let file = 0; file < files; file++) {
    const first = file * ticksPerFile;
    const ticks = nextTicks(world);
    const written = await storage.writeBatch(runId, first, first + ticksPerFile - 1, ticks, {
      schema: TickDataSchema,
    });
    writtenAtMs.set(written.key.slice(written.key.lastIndexOf("/") + 1), Date.now());
    await writer.send(announcementOf(written), { key: written.key });
    const dueMs = beganMs + ((file + 1) * 1_000) / filesPerSecond;
    await sleep(Math.max(0, dueMs - performance.now()));
  }
  return writtenAtMs;
}

function announcementOf({
  key,
  tickStart,
  tickEnd,
  bytes,
  crc,
}: Awaited<ReturnType<FileSystemStorage["writeBatch"]>>) {
  return create(BatchInfoSchema, {
    simulationRunId: runId,
    storageKey: key,
    tickStart: BigInt(tickStart),
    tickEnd: BigInt(tickEnd),
    bytes: BigInt(bytes),
    crc,
  });
}

/** From a file's last byte to the commit of its rows, by the clock that both processes of this machine have. */
async function delaysOf(database: Database, writtenAtMs: ReadonlyMap<string, number>): Promise<number[]> {
  const { rows } = await database
    .forRun(runSchemaName(runId))
    .query<{ filename: string; at: number }>(
      "SELECT batch_filename AS filename, (extract(epoch FROM completed_at) * 1000)::float8 AS at FROM sim.coordinator_batches",
    );
  return rows.map(({ filename, at }) => at - (writtenAtMs.get(filename) ?? Number.NaN));
}

async function run({ database, folder, size, measure }: Context<Size>) {
  const storage = new FileSystemStorage({ rootDirectory: await mkdtemp(join(folder, "run-")) });
  await using topics = new PostgresTopics(database);
  const metadata = create(SimulationMetadataSchema, { simulationRunId: runId, samplingInterval: 1 });
  await new MetadataWriter(database).insertMetadata(runId, metadata);
  await storage.writeMessage(`${runId}/metadata.pb`, SimulationMetadataSchema, metadata);
  const topic = await topics.reader(BatchInfoSchema, { topic: "batch-topic", group: "environment" });
  const resources = { storage, database, topic };
  await using indexer = new EnvironmentIndexer("environment", resources, { runId, flushTimeoutMs });
  await indexer.start();
  let writtenAtMs = new Map<string, number>();
  const measured = await measure(async () => {
    writtenAtMs = await writeSteadily(storage, topics, size);
    while ((indexer.getMetrics().batches_processed ?? 0) < size.files) await sleep(20);
    return size.files;
  });
  return { ...measured, ...delayFigures(await delaysOf(database, writtenAtMs)) };
}

export const indexingDelay: Scenario<Size> = {
  name: "indexing-delay",
  what: "From the last byte of a batch file to the commit of its rows, while files come at an even pace.",
  sizes: { quick: { files: 300, filesPerSecond: 20 }, full: { files: 1_200, filesPerSecond: 20 } },
  warmUp: { files: 40, filesPerSecond: 20 },
  figures: { p99Ms: "p99 ms", p50Ms: "p50 ms", maxMs: "highest ms" },
  goals: [{ figure: "p99Ms", below: 250 }],
  contenders: [
    {
      name: "Tallyman",
      kind: "ours",
      settings: `writer and indexer in one process, flushTimeoutMs ${flushTimeoutMs}, files of ${ticksPerFile} ticks`,
      run,
    },
  ],
};
