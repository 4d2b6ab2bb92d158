import type { RunDatabase } from "../../database/index.ts";
import { TallymanError } from "../../errors/index.ts";
import { type IndexerGroup, registerIndexerGroup } from "./sql/indexer-groups.ts";

/**
 * Enters who writes which tables. Two groups that wrote the same ones would each be sure to write every tick once.
 *
 * @throws TallymanError INDEXER_GROUP_CONFLICT
 */
export async function registerGroup(run: RunDatabase, own: IndexerGroup): Promise<void> {
  await run.transaction(async (tx) => {
    const [other] = await registerIndexerGroup(tx, own);
    // Rolls the entry back: left behind, it would refuse the one that is in the right.
    if (other) throw groupConflict(own, other);
  });
}

function groupConflict(own: IndexerGroup, other: IndexerGroup): TallymanError {
  const isSameClass = other.indexerClass === own.indexerClass;
  const who = isSameClass ? `group '${other.consumerGroup}'` : other.indexerClass;
  const remedy = isSameClass
    ? "One group per indexer class: use the same group, or stop the others and 'tallyman run reindex' to begin anew."
    : "One indexer class per table: give it tables of its own.";
  return new TallymanError(
    "INDEXER_GROUP_CONFLICT",
    `${own.indexerClass} with group '${own.consumerGroup}' would share its tables with ${who}. ${remedy}`,
    { details: { own, other } },
  );
}
