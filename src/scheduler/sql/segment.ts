import type { Executor, Transaction } from "../../database/index.ts";
import type { SegmentInfo } from "../worker-info.ts";

/**
 * How many segments the job store has.
 *
 * @example
 * ```ts
 * const count = await segmentCount(database);
 * ```
 */
export async function segmentCount(executor: Executor): Promise<number> {
  const { rows } = await executor.query<{ count: number }>(
    "SELECT segment_count AS count FROM tallyman.scheduler_settings",
  );
  return rows[0]?.count ?? 0;
}

/** The number of segments, which can't change until the transaction ends: for writes that depend on it. */
export async function lockSegmentCount(tx: Transaction): Promise<number> {
  const { rows } = await tx.query<{ count: number }>(
    "SELECT segment_count AS count FROM tallyman.scheduler_settings FOR SHARE",
  );
  return rows[0]?.count ?? 0;
}

/** Every segment, in the order of ids. */
export async function selectSegments(executor: Executor): Promise<SegmentInfo[]> {
  const { rows } = await executor.query<SegmentInfo>(
    `SELECT segment_id AS "segmentId", status, worker_id AS "workerId", epoch, assigned_at AS "assignedAt",
            revoke_deadline AS "revokeDeadline"
     FROM tallyman.scheduler_segment ORDER BY segment_id`,
  );
  return rows;
}

/** Holds the settings and every segment until the transaction ends; waits for fires that are under way. */
export async function lockAllSegments(tx: Transaction): Promise<void> {
  await tx.query("SELECT FROM tallyman.scheduler_settings FOR UPDATE");
  await tx.query("SELECT FROM tallyman.scheduler_segment ORDER BY segment_id FOR UPDATE");
}

/** Makes the segments `count`, all of them available under new epochs. The caller has locked everything. */
export async function resizeSegments(tx: Transaction, count: number): Promise<void> {
  await tx.query(
    `UPDATE tallyman.scheduler_settings SET segment_count = $1,
       epoch_floor = greatest(epoch_floor, (SELECT max(epoch) + 1 FROM tallyman.scheduler_segment))`,
    [count],
  );
  await tx.query("DELETE FROM tallyman.scheduler_segment WHERE segment_id >= $1", [count]);
  await tx.query(
    `UPDATE tallyman.scheduler_segment SET status = 'AVAILABLE', worker_id = NULL, assigned_at = NULL,
       revoke_deadline = NULL, epoch = epoch + 1`,
  );
  await tx.query(
    `INSERT INTO tallyman.scheduler_segment (segment_id, epoch)
     SELECT i, (SELECT epoch_floor FROM tallyman.scheduler_settings) FROM generate_series(0, $1::int - 1) i
     ON CONFLICT DO NOTHING`,
    [count],
  );
}
