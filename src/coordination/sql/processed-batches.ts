import type { Executor } from "../../database/index.ts";

/** Whether this class has processed the batch. */
export async function isProcessed(
  executor: Executor,
  indexerClass: string,
  batchId: string,
): Promise<boolean> {
  const { rowCount } = await executor.query(
    "SELECT FROM sim.processed_batches WHERE indexer_class = $1 AND batch_id = $2",
    [indexerClass, batchId],
  );
  return rowCount === 1;
}

/** Remembers batches as processed; those that are remembered already stay as they are. */
export async function markProcessed(
  executor: Executor,
  indexerClass: string,
  batchIds: readonly string[],
): Promise<void> {
  await executor.query(
    `INSERT INTO sim.processed_batches (indexer_class, batch_id) SELECT $1, unnest($2::text[])
     ON CONFLICT DO NOTHING`,
    [indexerClass, batchIds],
  );
}
