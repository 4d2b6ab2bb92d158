/**
 * Simulates one run and persists it, by two competing services. After a kill it computes the run again and
 * hands over what no file holds. Argument: which run.
 */
import { join } from "node:path";
import {
  BatchInfoSchema,
  FileSystemStorage,
  MetadataInfoSchema,
  MetadataPersistenceService,
  MetadataQueue,
  PersistenceService,
  redriveFiles,
  SimulationEngine,
  TickQueue,
} from "../../src/index.ts";
import { clock, openTallyman, openTopics, type Request, runPlanOf, serve, settings } from "./child-kit.ts";
import { FaultyStorage } from "./faulty-storage.ts";
import { FaultyTopic } from "./faulty-topic.ts";
import { names } from "./plan.ts";

const { runId, samplingInterval, lastTick, codec } = runPlanOf(process.argv[2]);
const tallyman = await openTallyman();
const topics = await openTopics(tallyman);
const storage = new FileSystemStorage({ rootDirectory: join(settings.folder, "storage"), codec });
const topic = new FaultyTopic(await topics.writer(BatchInfoSchema, { topic: names.batchTopic }));
const faultyStorage = new FaultyStorage(storage, topic);

async function act({ what, random }: Request): Promise<void> {
  if (what === "redrive") return redriveAll();
  if (what === "overload") return faultyStorage.hurry();
  if (what === "announcement-duplicated") return topic.repeat(random);
  if (what === "announcement-hostile") return topic.sendHostile(runId);
  await faultyStorage.breakNext(what, random);
}

async function redriveAll(): Promise<void> {
  const groups = [
    [names.keylessIndexer, "keyless"],
    [names.keyedIndexer, "environment"],
  ] as const;
  for (const [indexerClass, group] of groups)
    await redriveFiles(tallyman.database, topics, { runId, indexerClass, topic: names.batchTopic, group });
}

const [queue, metadataQueue] = [new TickQueue({ recordsMax: 120 }), new MetadataQueue()];
const retries = { maxRetries: 5, retryBackoffMs: 100, retryBackoffMaxMs: 1_000 };
const persistence = [1, 2].map(
  (number) =>
    new PersistenceService(
      `persistence-${number}`,
      { queue, storage: faultyStorage, topic },
      { ...retries, maxBatchSize: 40, batchTimeoutMs: 600 },
    ),
);
const metadataTopic = await topics.writer(MetadataInfoSchema, { topic: names.metadataTopic });
await serve(
  [
    new MetadataPersistenceService(
      "metadata",
      { queue: metadataQueue, storage, topic: metadataTopic },
      retries,
    ),
    ...persistence,
    new SimulationEngine(
      "engine",
      { queue, metadataQueue, storage, clock },
      { runId, samplingInterval, maxTicks: lastTick + 1, worldWidth: 8, worldHeight: 8, seed: settings.seed },
    ),
  ],
  act,
);
