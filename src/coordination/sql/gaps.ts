import type { Executor, Transaction } from "../../database/index.ts";

/** A range of missing ticks; both bounds belong to it and lie on the sampling grid. */
export interface GapInfo {
  readonly gapStartTick: number;
  readonly gapEndTick: number;
  readonly firstDetected: Date;
  readonly status: "pending" | "permanent";
}

const gapColumns = `gap_start_tick AS "gapStartTick", gap_end_tick AS "gapEndTick", first_detected AS "firstDetected", status`;

interface GapRow extends Omit<GapInfo, "gapStartTick" | "gapEndTick"> {
  gapStartTick: number | string;
  gapEndTick: number | string;
}

const toGap = (row: GapRow): GapInfo => ({
  ...row,
  gapStartTick: Number(row.gapStartTick),
  gapEndTick: Number(row.gapEndTick),
});

/**
 * Waits for others that change the gaps of this run and class; held until the transaction ends. It
 * must be an earlier statement than the one that reads: a snapshot taken before the lock is stale.
 */
export async function lockGaps(tx: Transaction, runSchema: string): Promise<void> {
  await tx.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`tallyman gaps ${runSchema}`]);
}

/** Records a gap by hand, as far as no recorded gap has its ticks already. Call it under lockGaps. */
export async function insertManualGap(
  tx: Transaction,
  indexerClass: string,
  gapStart: number,
  gapEnd: number,
): Promise<void> {
  await tx.query(
    `INSERT INTO sim.coordinator_gaps (indexer_class, gap_start_tick, gap_end_tick, first_detected, status, is_manual)
     SELECT $1, lower(part), upper(part) - 1, clock_timestamp(), 'pending', true
     FROM unnest(int8multirange(int8range($2::bigint, $3::bigint + 1)) - coalesce((
       SELECT range_agg(int8range(gap_start_tick, gap_end_tick + 1))
       FROM sim.coordinator_gaps WHERE indexer_class = $1
     ), '{}')) AS part`,
    [indexerClass, gapStart, gapEnd],
  );
}

/** The pending gap with the lowest ticks. */
export async function oldestPendingGap(
  executor: Executor,
  indexerClass: string,
): Promise<GapInfo | undefined> {
  const { rows } = await executor.query<GapRow>(
    `SELECT ${gapColumns} FROM sim.coordinator_gaps
     WHERE indexer_class = $1 AND status = 'pending' ORDER BY gap_start_tick LIMIT 1`,
    [indexerClass],
  );
  return rows.map(toGap)[0];
}

/** Which gaps. */
export interface GapPage {
  readonly limit: number;
  /** Default: both. */
  readonly status?: GapInfo["status"] | undefined;
  /** Begin behind the gap that starts here; for further pages. */
  readonly after?: number | undefined;
}

/** Gaps of an indexer class in tick order. */
export async function listGaps(
  executor: Executor,
  indexerClass: string,
  { limit, status, after }: GapPage,
): Promise<GapInfo[]> {
  const { rows } = await executor.query<GapRow>(
    `SELECT ${gapColumns} FROM sim.coordinator_gaps
     WHERE indexer_class = $1 AND ($3::text IS NULL OR status = $3) AND ($4::bigint IS NULL OR gap_start_tick > $4)
     ORDER BY gap_start_tick LIMIT $2`,
    [indexerClass, limit, status ?? null, after ?? null],
  );
  return rows.map(toGap);
}

/** How many gaps a run has, of all indexer classes. */
export interface GapCounts {
  readonly pending: number;
  readonly permanent: number;
}

/** Counts the gaps of a run, up to `max` of each status: a bounded look, however many there are. */
export async function countGaps(executor: Executor, max: number): Promise<GapCounts> {
  const upTo = (status: string) =>
    `(SELECT count(*) FROM (SELECT FROM sim.coordinator_gaps WHERE status = '${status}' LIMIT $1) found)`;
  const { rows } = await executor.query<GapCounts>(
    `SELECT ${upTo("pending")} AS pending, ${upTo("permanent")} AS permanent`,
    [max],
  );
  return rows[0] ?? { pending: 0, permanent: 0 };
}

/** Whether a pending gap has been missing for at least this long, by the database's clock. */
export async function isGapOlderThan(
  executor: Executor,
  indexerClass: string,
  gapStart: number,
  ageMs: number,
): Promise<boolean> {
  const { rows } = await executor.query<{ old: boolean }>(
    `SELECT first_detected <= clock_timestamp() - $3 * interval '1 millisecond' AS old
     FROM sim.coordinator_gaps WHERE indexer_class = $1 AND gap_start_tick = $2 AND status = 'pending'`,
    [indexerClass, gapStart, ageMs],
  );
  return rows[0]?.old ?? false;
}

/** Ends the search for a gap; true for the one caller that changed it. */
export async function setGapPermanent(
  executor: Executor,
  indexerClass: string,
  gapStart: number,
): Promise<boolean> {
  const { rowCount } = await executor.query(
    `UPDATE sim.coordinator_gaps SET status = 'permanent'
     WHERE indexer_class = $1 AND gap_start_tick = $2 AND status = 'pending'`,
    [indexerClass, gapStart],
  );
  return rowCount === 1;
}

/** Cuts the range of a found batch out of a gap, keeping the parts' age; false when the gap is gone. */
export async function cutGap(
  tx: Transaction,
  indexerClass: string,
  gap: { start: number; end: number },
  parts: readonly { start: number; end: number }[],
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `WITH cut AS (
       DELETE FROM sim.coordinator_gaps WHERE indexer_class = $1 AND gap_start_tick = $2 AND gap_end_tick = $3
       RETURNING first_detected, is_manual
     ), parts AS (
       INSERT INTO sim.coordinator_gaps (indexer_class, gap_start_tick, gap_end_tick, first_detected, status, is_manual)
       SELECT $1, p.gap_start, p.gap_end, cut.first_detected, 'pending', cut.is_manual
       FROM cut, unnest($4::bigint[], $5::bigint[]) AS p(gap_start, gap_end)
       ON CONFLICT (indexer_class, gap_start_tick) DO UPDATE
         SET gap_end_tick = excluded.gap_end_tick, first_detected = excluded.first_detected, status = excluded.status
     )
     SELECT FROM cut`,
    [indexerClass, gap.start, gap.end, parts.map((part) => part.start), parts.map((part) => part.end)],
  );
  return rowCount === 1;
}
