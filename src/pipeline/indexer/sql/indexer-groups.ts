import { type Executor, quoteIdentifier, type Transaction } from "../../../database/index.ts";

/** Who writes which tables of a run. */
export interface IndexerGroup {
  readonly indexerClass: string;
  /** Null: without a topic. */
  readonly consumerGroup: string | null;
  readonly tables: readonly string[];
}

/** Enters an indexer class, or brings its entry up to date. Returns those that stand against it, before and after. */
export async function registerIndexerGroup(
  executor: Executor,
  { indexerClass, consumerGroup, tables }: IndexerGroup,
): Promise<IndexerGroup[]> {
  await executor.query(
    `INSERT INTO sim.indexer_groups AS g (indexer_class, consumer_group, tables) VALUES ($1, $2, $3)
     ON CONFLICT (indexer_class) DO UPDATE
       SET consumer_group = coalesce(g.consumer_group, excluded.consumer_group), tables = excluded.tables`,
    [indexerClass, consumerGroup, tables],
  );
  const { rows } = await executor.query<IndexerGroup>(
    `SELECT indexer_class AS "indexerClass", consumer_group AS "consumerGroup", tables
     FROM sim.indexer_groups
     WHERE (indexer_class = $1 AND consumer_group <> $2) OR (indexer_class <> $1 AND tables && $3::text[])
     ORDER BY registered_at LIMIT 1`,
    [indexerClass, consumerGroup, tables],
  );
  return rows;
}

/** The entry of an indexer class. */
export async function findIndexerGroup(
  executor: Executor,
  indexerClass: string,
): Promise<IndexerGroup | undefined> {
  const { rows } = await executor.query<IndexerGroup>(
    `SELECT indexer_class AS "indexerClass", consumer_group AS "consumerGroup", tables
     FROM sim.indexer_groups WHERE indexer_class = $1`,
    [indexerClass],
  );
  return rows[0];
}

/** Whether an indexer class has files in the run's ledger, by which it finds them again. */
export async function hasLedger(executor: Executor, indexerClass: string): Promise<boolean> {
  const { rowCount } = await executor.query(
    "SELECT FROM sim.coordinator_batches WHERE indexer_class = $1 LIMIT 1",
    [indexerClass],
  );
  return rowCount === 1;
}

/** Whether there is anything in these tables of the run. */
export async function haveRows(executor: Executor, tables: readonly string[]): Promise<boolean> {
  for (const table of tables) {
    const { rowCount } = await executor.query(`SELECT FROM sim.${quoteIdentifier(table)} LIMIT 1`);
    if (rowCount === 1) return true;
  }
  return false;
}

/**
 * Empties an indexer's tables and forgets what it has done. The ledger is locked first, as flushes do, and the tables
 * next, which is where flushes without a ledger are waited for: a file that was flushed between a DELETE's snapshot
 * and the TRUNCATE would be done and have no rows.
 */
export async function forgetIndexer(tx: Transaction, { indexerClass, tables }: IndexerGroup): Promise<void> {
  await tx.query("LOCK TABLE sim.coordinator_batches IN EXCLUSIVE MODE");
  for (const table of tables) await tx.query(`TRUNCATE sim.${quoteIdentifier(table)}`);
  for (const table of ["coordinator_batches", "coordinator_gaps", "processed_batches"])
    await tx.query(`DELETE FROM sim.${table} WHERE indexer_class = $1`, [indexerClass]);
}

/** Forgets in which group an indexer class works: it may begin in another. */
export async function forgetGroup(executor: Executor, indexerClass: string): Promise<void> {
  await executor.query("UPDATE sim.indexer_groups SET consumer_group = NULL WHERE indexer_class = $1", [
    indexerClass,
  ]);
}
