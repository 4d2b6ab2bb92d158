import type { Executor } from "../../database/index.ts";

/** One row of a job's history. */
export interface FireRow {
  readonly fireTime: Date;
  readonly outcome: "FIRED" | "MISSED" | "OVERLAP";
  readonly isManual: boolean;
  readonly firedAt: Date;
  readonly runId: string | null;
  readonly missedUntil: Date | null;
}

/** A job's history, the latest time first; `cursor` is the last row of the page before. */
export async function selectFires(
  executor: Executor,
  key: string,
  page: { readonly limit: number; readonly cursor: Pick<FireRow, "fireTime" | "isManual"> | null },
): Promise<FireRow[]> {
  const { rows } = await executor.query<FireRow>(
    `SELECT fire_time AS "fireTime", outcome, is_manual AS "isManual", fired_at AS "firedAt", run_id AS "runId",
            missed_until AS "missedUntil"
     FROM tallyman.scheduler_fire
     WHERE job_id = (SELECT job_id FROM tallyman.scheduler_job WHERE job_key = $1)
       AND ($3::timestamptz IS NULL OR (fire_time, is_manual) < ($3, $4))
     ORDER BY fire_time DESC, is_manual DESC LIMIT $2`,
    [key, page.limit, page.cursor?.fireTime ?? null, page.cursor?.isManual ?? null],
  );
  return rows;
}

/** Deletes history that is older than `keepMs`, a bounded part of it; returns how many rows. */
export async function deleteOldFires(executor: Executor, keepMs: number, limit: number): Promise<number> {
  const { rowCount } = await executor.query(
    `DELETE FROM tallyman.scheduler_fire WHERE ctid = ANY (ARRAY (
       SELECT ctid FROM tallyman.scheduler_fire
       WHERE fired_at < (SELECT clock_timestamp() - $1::float8 * interval '1 millisecond') LIMIT $2 FOR UPDATE SKIP LOCKED))`,
    [keepMs, limit],
  );
  return rowCount ?? 0;
}
