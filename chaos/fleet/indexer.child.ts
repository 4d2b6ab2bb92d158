/**
 * Indexes one run with two classes: one writes every tick to a table without any key, so that a tick written
 * twice shows; the other is the product's, with its keys. Argument: which run.
 */

import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  BatchIndexer,
  BatchInfoSchema,
  type ComponentType,
  createBatchCoordinator,
  DeadLetterQueue,
  EnvironmentIndexer,
  FileSystemStorage,
  type FlushContext,
  MetadataIndexer,
  MetadataInfoSchema,
  type TickData,
} from "../../src/index.ts";
import { openTallyman, openTopics, runPlanOf, serve, settings } from "./child-kit.ts";
import { names } from "./plan.ts";

const { runId } = runPlanOf(process.argv[2]);
const tallyman = await openTallyman();
const { database } = tallyman;
const topics = await openTopics(tallyman);
const storage = new FileSystemStorage({ rootDirectory: join(settings.folder, "storage") });
/** A flush takes a while, so that faults meet it in the middle. */
const slowFlushMs = 40;
const doer = `${settings.slot}.${settings.life}`;

class KeylessIndexer extends BatchIndexer {
  protected override getRequiredComponents() {
    return new Set<ComponentType>(["METADATA", "COORDINATION", "GAP_DETECTION", "BUFFERING"]);
  }

  protected override async flushTicks(ticks: readonly TickData[], { tx }: FlushContext) {
    await sleep(Math.random() * slowFlushMs);
    await tx.query("INSERT INTO chaos.seen (run_id, doer, tick) SELECT $1, $2, unnest($3::bigint[])", [
      runId,
      doer,
      ticks.map(({ tickNumber }) => tickNumber),
    ]);
  }
}

const options = {
  runId,
  insertBatchSize: 12,
  flushTimeoutMs: 400,
  pollIntervalMs: 300,
  metadataPollIntervalMs: 200,
  sweepIntervalMs: 500,
  stalledAfterMs: 2_000,
  gapWarningTimeoutMs: 2_000,
  maxRetries: 2,
  retryDelayMs: 200,
};

/** What an indexer of its own consumer group works with. */
async function resourcesOf(group: string) {
  const deadLetterTopic = `${group}-dead-letters`;
  return {
    storage,
    database,
    topic: await topics.reader(BatchInfoSchema, {
      topic: names.batchTopic,
      group,
      claimTimeoutMs: 1_500,
      pollIntervalMs: 300,
      deadLetterTopic,
    }),
    coordinator: createBatchCoordinator(database, { leaseMs: 1_000 }),
    deadLetters: await DeadLetterQueue.open(topics, { topic: deadLetterTopic }),
  };
}

const metadataTopic = await topics.reader(MetadataInfoSchema, {
  topic: names.metadataTopic,
  group: "metadata-indexer",
  claimTimeoutMs: 1_500,
});
await serve([
  new MetadataIndexer(
    "metadata-indexer",
    { storage, database, topic: metadataTopic },
    { runId, pollIntervalMs: 200, topicPollTimeoutMs: 2_000 },
  ),
  new KeylessIndexer("keyless-indexer", await resourcesOf("keyless"), options),
  new EnvironmentIndexer("environment-indexer", await resourcesOf("environment"), options),
]);
