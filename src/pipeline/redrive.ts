import { createBatchCoordinator, DatabaseRetryTracker, type FailedFilter } from "../coordination/index.ts";
import { type Database, ensureRunSchema, runSchemaName } from "../database/index.ts";
import type { Topics } from "../topics/index.ts";
import { retryId } from "./components/dlq-component.ts";
import { findIndexerGroup } from "./indexer/sql/indexer-groups.ts";

/** What to try again. */
export interface RedriveScope {
  readonly runId: string;
  readonly indexerClass: string;
  /** The topic whose dead letters go back with the files; none for an indexer that discovers them. */
  readonly topic?: string;
  /** The indexer's consumer group on that topic. Default: the one that it works in. */
  readonly group?: string;
  /**
   * Which of the failed files; default all. Of a choice no letters go back: those of the others would only come again,
   * and the indexer finds a file that may be tried without its announcement.
   */
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
  scope: RedriveScope,
): Promise<Redriven> {
  const { runId, indexerClass, topic, files = {} } = scope;
  const retried = await retryFiles(database, runId, indexerClass, files);
  const isChoice = Object.values(files).some((restriction) => restriction !== undefined);
  const messages = topic && !isChoice ? await redriveLetters(database, topics, { ...scope, topic }) : 0;
  return { files: retried.length, messages };
}

/** In one transaction: a file that fails once more before its failures are forgotten would be given up at once. */
async function retryFiles(
  database: Database,
  runId: string,
  indexerClass: string,
  files: FailedFilter,
): Promise<readonly string[]> {
  // Before the transaction, which would otherwise need a second connection to make the tables.
  await ensureRunSchema(database, runId);
  const coordinator = createBatchCoordinator(database);
  coordinator.setSimulationRun(runId);
  const ledger = coordinator.setIndexerClass(indexerClass);
  return database.transaction(async (tx) => {
    const retried = await ledger.retryFailed(files, { tx });
    const retryIds = retried.map((filename) => retryId(indexerClass, runId, filename));
    await new DatabaseRetryTracker(database).resetRetryCounts(retryIds, { tx });
    return retried;
  });
}

/** Those of its own group alone: other indexers did not ask for theirs. */
async function redriveLetters(
  database: Database,
  topics: Topics,
  { runId, indexerClass, topic, group }: RedriveScope & { readonly topic: string },
): Promise<number> {
  const run = database.forRun(runSchemaName(runId));
  const own = group ?? (await findIndexerGroup(run, indexerClass))?.consumerGroup;
  if (own) return topics.redrive(topic, { runId, group: own });
  // Nothing goes back, but a topic that is not there is still an error.
  await topics.listGroups(topic, { runId });
  return 0;
}
