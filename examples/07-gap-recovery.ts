/*
 * A file in the middle of a run is missing: its ticks are an open gap, told by their numbers. The file turns up late,
 * without an announcement; the indexer finds it and the gap closes.
 *
 *   node --import tsx examples/07-gap-recovery.ts
 */
import { create } from "@bufbuild/protobuf";
import {
  accountForTicks,
  BatchInfoSchema,
  configureLogging,
  createBatchCoordinator,
  DummyIndexer,
  FileSystemStorage,
  MetadataWriter,
  newRunId,
  SimulationMetadataSchema,
  Tallyman,
  TickDataSchema,
} from "../src/index.ts";

configureLogging({ level: "error" });
await using tallyman = await Tallyman.embedded();
const { database, topics } = tallyman;
const storage = new FileSystemStorage({ rootDirectory: ".tallyman/gap-storage" });
const runId = newRunId();
const declaredEnd = 299;

async function writeFile(first: number): Promise<void> {
  const ticks = Array.from({ length: 100 }, (_, index) =>
    create(TickDataSchema, { simulationRunId: runId, tickNumber: BigInt(first + index) }),
  );
  await storage.writeBatch(runId, first, first + 99, ticks, { schema: TickDataSchema });
}

/** Waits until the account of the run's ticks is as it should be, and shows it. */
async function until(expected: { indexed: number; pending: number }): Promise<void> {
  for (;;) {
    const { counts } = await accountForTicks(database, runId, "DummyIndexer", {
      samplingInterval: 1,
      declaredEnd,
    });
    if (counts.indexed === expected.indexed && counts.pending === expected.pending) {
      console.log(`indexed ${counts.indexed}, missing ${counts.pending}`);
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

await new MetadataWriter(database).insertMetadata(
  runId,
  create(SimulationMetadataSchema, {
    simulationRunId: runId,
    samplingInterval: 1,
    declaredEndTick: BigInt(declaredEnd),
  }),
);
await writeFile(0);
await writeFile(200);
await using indexer = new DummyIndexer(
  "dummy",
  {
    storage,
    database,
    topic: await topics.reader(BatchInfoSchema, { topic: "gap-batches", group: "dummy" }),
    coordinator: createBatchCoordinator(database),
  },
  { runId, sweepIntervalMs: 200, topicPollTimeoutMs: 100 },
);
await indexer.start();
await until({ indexed: 200, pending: 100 });
await writeFile(100);
await until({ indexed: 300, pending: 0 });
