import { type Database, hasRunSchema, runSchemaName } from "../database/index.ts";
import { TallymanError } from "../errors/index.ts";
import type { Topics } from "../topics/index.ts";
import { findIndexerGroup, forgetIndexer, type IndexerGroup } from "./indexer/sql/indexer-groups.ts";

/** What to index again. */
export interface ReindexScope {
  readonly runId: string;
  readonly indexerClass: string;
  /** The topic of its announcements: an indexer without a ledger gets them all again. */
  readonly topic?: string;
}

/**
 * Begins an indexer's work on a run anew: empties its tables and forgets its ledger, in one transaction.
 * Running instances notice that their claims are gone, drop what they hold, and start over with the rest.
 *
 * @throws TallymanError RUN_NOT_FOUND, INDEXER_NOT_FOUND
 */
export async function reindex(
  database: Database,
  topics: Topics,
  scope: ReindexScope,
): Promise<IndexerGroup> {
  const { runId, indexerClass, topic } = scope;
  const schema = runSchemaName(runId);
  if (!(await hasRunSchema(database, runId)))
    throw new TallymanError("RUN_NOT_FOUND", `Run ${runId} is not indexed.`, { details: { runId } });
  const group = await database.forRun(schema).transaction(async (tx) => {
    const found = await findIndexerGroup(tx, indexerClass);
    if (!found) throw notFound(runId, indexerClass);
    await forgetIndexer(tx, found);
    return found;
  });
  if (topic && group.consumerGroup) await topics.seekGroup(topic, group.consumerGroup, "beginning");
  return group;
}

function notFound(runId: string, indexerClass: string): TallymanError {
  return new TallymanError(
    "INDEXER_NOT_FOUND",
    `No indexer ${indexerClass} has worked on run ${runId}. 'tallyman gaps --run ${runId}' shows those that have.`,
    { details: { runId, indexerClass } },
  );
}
