import { indexerNotFound } from "../coordination/index.ts";
import { type Database, openRun, type Transaction } from "../database/index.ts";
import { TallymanError } from "../errors/index.ts";
import type { Topics } from "../topics/index.ts";
import {
  findIndexerGroup,
  forgetGroup,
  forgetIndexer,
  hasLedger,
  haveRows,
  type IndexerGroup,
} from "./indexer/sql/indexer-groups.ts";

/** What to index again. */
export interface ReindexScope {
  readonly runId: string;
  readonly indexerClass: string;
  /** The topic of its announcements: an indexer without a ledger gets those of the run again, and needs it. */
  readonly topic?: string;
}

/**
 * Begins an indexer's work on a run anew: empties its tables and forgets its ledger, in one transaction.
 * Running instances notice that their claims are gone, drop what they hold, and start over with the rest.
 *
 * @throws TallymanError RUN_NOT_FOUND, INDEXER_NOT_FOUND; INVALID_OPTION when nothing would bring the rows back
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
    await refuseLoss(tx, found, scope);
    await forgetIndexer(tx, found);
    return found;
  });
  if (topic && group.consumerGroup)
    await topics.seekGroup(topic, group.consumerGroup, "beginning", { runId });
  // Last: without the group, whoever repeats this after a crash could not bring the announcements back.
  await forgetGroup(run, indexerClass);
  return group;
}

/** Without a ledger, only the announcements bring back what is emptied. */
async function refuseLoss(tx: Transaction, group: IndexerGroup, scope: ReindexScope): Promise<void> {
  const { indexerClass, consumerGroup, tables } = group;
  if (scope.topic && consumerGroup) return;
  if ((await hasLedger(tx, indexerClass)) || !(await haveRows(tx, tables))) return;
  const remedy = scope.topic
    ? "its group is not known, start it once before"
    : "name the topic of its announcements";
  throw new TallymanError(
    "INVALID_OPTION",
    `${indexerClass} keeps no ledger of run ${scope.runId}, so nothing would bring its rows back: ${remedy}.`,
    { details: { option: "topic", indexerClass } },
  );
}
