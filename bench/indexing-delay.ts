/*
 * From a file's last byte to its rows being committed, at a steady rate of files: percentiles of the delay.
 *
 *   node --import tsx bench/indexing-delay.ts [--files 400] [--per-second 20] [--flush-timeout-ms 100]
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { create } from "@bufbuild/protobuf";
import { BatchInfoSchema, SimulationMetadataSchema, TickDataSchema } from "../src/contracts/index.ts";
import { MetadataWriter } from "../src/coordination/index.ts";
import { runSchemaName } from "../src/database/index.ts";
import { createWorld, EnvironmentIndexer, sample, step } from "../src/pipeline/index.ts";
import { configureLogging, sleep } from "../src/runtime/index.ts";
import { FileSystemStorage } from "../src/storage/index.ts";
import { PostgresTopics } from "../src/topics/index.ts";
import { startBenchServer } from "./harness/server.ts";

const { values: flags } = parseArgs({
  options: {
    files: { type: "string", default: "400" },
    "per-second": { type: "string", default: "20" },
    "flush-timeout-ms": { type: "string", default: "100" },
  },
});
const fileCount = Number(flags.files);
const ticksPerFile = 10;
const runId = "delay";
const world = createWorld({ width: 32, height: 32, seed: 7 });

function nextTicks() {
  return Array.from({ length: ticksPerFile }, () => {
    const tick = { ...sample(world), simulationRunId: runId, capturedAtMs: 0n };
    step(world);
    return tick;
  });
}

configureLogging({ level: "warn" });
await using server = await startBenchServer();
const { database } = server;
const rootDirectory = await mkdtemp(join(tmpdir(), "tallyman-bench-delay-"));
try {
  const storage = new FileSystemStorage({ rootDirectory });
  await using topics = new PostgresTopics(database);
  await new MetadataWriter(database).insertMetadata(
    runId,
    create(SimulationMetadataSchema, { simulationRunId: runId, samplingInterval: 1 }),
  );
  const writer = await topics.writer(BatchInfoSchema, { topic: "batch-topic", runId });
  const topic = await topics.reader(BatchInfoSchema, { topic: "batch-topic", group: "environment" });
  const flushTimeoutMs = Number(flags["flush-timeout-ms"]);
  await storage.writeMessage(
    `${runId}/metadata.pb`,
    SimulationMetadataSchema,
    create(SimulationMetadataSchema, {}),
  );
  await using indexer = new EnvironmentIndexer(
    "environment",
    { storage, database, topic },
    { runId, flushTimeoutMs },
  );
  await indexer.start();
  const writtenAtMs = new Map<string, number>();
  const beganMs = performance.now();
  for (let file = 0; file < fileCount; file++) {
    const ticks = nextTicks();
    const first = file * ticksPerFile;
    const options = { schema: TickDataSchema };
    const { key, tickStart, tickEnd, bytes, crc } = await storage.writeBatch(
      runId,
      first,
      first + ticksPerFile - 1,
      ticks,
      options,
    );
    writtenAtMs.set(key.slice(key.lastIndexOf("/") + 1), Date.now());
    await writer.send(
      create(BatchInfoSchema, {
        simulationRunId: runId,
        storageKey: key,
        tickStart: BigInt(tickStart),
        tickEnd: BigInt(tickEnd),
        bytes: BigInt(bytes),
        crc,
      }),
      { key },
    );
    const dueMs = beganMs + ((file + 1) * 1000) / Number(flags["per-second"]);
    await sleep(Math.max(0, dueMs - performance.now()));
  }
  while ((indexer.getMetrics().batches_processed ?? 0) < fileCount) await sleep(20);
  const { rows } = await database
    .forRun(runSchemaName(runId))
    .query<{ filename: string; at: number }>(
      "SELECT batch_filename AS filename, (extract(epoch FROM completed_at) * 1000)::float8 AS at FROM sim.coordinator_batches",
    );
  const delays = rows
    .map(({ filename, at }) => at - (writtenAtMs.get(filename) ?? Number.NaN))
    .sort((a, b) => a - b);
  const at = (share: number) =>
    Math.round(delays[Math.min(delays.length - 1, Math.floor(delays.length * share))] ?? Number.NaN);
  console.log(
    `${delays.length} files at ${flags["per-second"]}/s, flushTimeoutMs ${flushTimeoutMs}: p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, p99 ${at(0.99)} ms, max ${at(1)} ms`,
  );
} finally {
  await rm(rootDirectory, { recursive: true });
}
