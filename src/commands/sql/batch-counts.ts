import type { Executor } from "../../database/index.ts";

/** Batches that have not ended. */
export interface BatchCounts {
  readonly running: number;
  /** Those of them that have commands in the troubleshooting queue, and so can't end by themselves. */
  readonly blocked: number;
}

/** Counted on the index of states: what has ended costs nothing. */
export async function selectBatchCounts(executor: Executor): Promise<BatchCounts> {
  const { rows } = await executor.query<BatchCounts>(
    `SELECT count(*)::integer AS running, count(*) FILTER (WHERE in_troubleshooting_count > 0)::integer AS blocked
     FROM tallyman.command_bus_batch WHERE status IN ('PENDING', 'IN_PROGRESS')`,
  );
  return rows[0] ?? { running: 0, blocked: 0 };
}
