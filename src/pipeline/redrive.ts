import { createBatchCoordinator, DatabaseRetryTracker, type FailedFilter } from "../coordination/index.ts";
import type { Database } from "../database/index.ts";
import type { Topics } from "../topics/index.ts";
import { retryId } from "./components/dlq-component.ts";

/** What to try again. */
export interface RedriveScope {
  readonly runId: string;
  readonly indexerClass: string;
  /** The topic whose dead letters go back with the files; none for an indexer that discovers them. */
  readonly topic?: string;
  /** The indexer's consumer group on that topic. */
  readonly group?: string;
  /** Which of the failed files; default all. */
  readonly files?: FailedFilter;
}

/** What went back. */
export interface Redriven {
  readonly files: number;
  readonly messages: number;
}

/**
 * Makes an indexer's failed files claimable again, their failures forgotten, and sends their announcements
 * back. Running indexers take them from there; it does not matter which of the two they see first.
 *
 * @example
 * ```ts
 * await redriveFiles(database, topics, { runId: "run-1", indexerClass: "EnvironmentIndexer", topic: "batch-topic" });
 * ```
 */
export async function redriveFiles(
  database: Database,
  topics: Topics,
  { runId, indexerClass, topic, group, files = {} }: RedriveScope,
): Promise<Redriven> {
  const coordinator = createBatchCoordinator(database);
  coordinator.setSimulationRun(runId);
  const retried = await coordinator.setIndexerClass(indexerClass).retryFailed(files);
  const retryIds = retried.map((filename) => retryId(indexerClass, runId, filename));
  await new DatabaseRetryTracker(database).resetRetryCounts(retryIds);
  const messages = topic ? await topics.redrive(topic, { runId, ...(group && { group }) }) : 0;
  return { files: retried.length, messages };
}
