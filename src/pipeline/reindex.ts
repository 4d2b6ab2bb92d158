import { indexerNotFound } from "../coordination/index.ts";
import { type Database, openRun } from "../database/index.ts";
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
  const run = await openRun(database, runId);
  const group = await run.transaction(async (tx) => {
    const found = await findIndexerGroup(tx, indexerClass);
    if (!found) throw indexerNotFound(runId, indexerClass);
    await forgetIndexer(tx, found);
    return found;
  });
  if (topic && group.consumerGroup) await topics.seekGroup(topic, group.consumerGroup, "beginning");
  return group;
}
