import type { Transaction } from "../../database/index.ts";

/** The ticks that a run should have. */
export interface ExpectedTicks {
  readonly samplingInterval: number;
  /** The first expected tick. */
  readonly start: number;
  /** The last tick that the producer declared; null while unknown: then the highest known one. */
  readonly declaredEnd: number | null;
}

/** What a reconciliation found and changed. */
export interface ReconciledGaps {
  /** Gap rows that are new or longer than before. */
  readonly opened: number;
  /** Gap rows that are gone. */
  readonly closed: number;
  readonly pending: number;
  readonly permanent: number;
  /** Files that {@link summariseFiles} could fold away. */
  readonly unsummarised: number;
}

/** The union of all known files as one multirange, half-open; needs `$2` as the sampling interval. */
export const knownRanges = `
  SELECT coalesce(range_agg(range), '{}'::int8multirange) AS ranges FROM (
    SELECT int8range(range_start, range_end) AS range FROM sim.known_ranges
    UNION ALL
    SELECT int8range(tick_start, tick_end + $2::bigint) FROM sim.batch_files WHERE NOT is_summarised
  ) r`;

/**
 * Derives the gaps from what is known and brings the rows in line. Call it under lockGaps.
 *
 * A row that is there keeps its age and status as far as its ticks are still missing; a manual one as
 * far as no known file covers it. A permanent gap that a file has cut into is searched again. Ticks
 * that are missing and in no row become a new pending gap.
 */
export async function reconcileGapRows(
  tx: Transaction,
  indexerClass: string,
  expected: ExpectedTicks,
): Promise<ReconciledGaps> {
  const { rows } = await tx.query<Record<keyof ReconciledGaps, number | string>>(
    `WITH known AS MATERIALIZED (${knownRanges}),
     missing AS MATERIALIZED (
       SELECT CASE WHEN last_tick < $3::bigint THEN '{}'::int8multirange
                   ELSE int8multirange(int8range($3::bigint, last_tick + $2::bigint)) - ranges END AS ranges
       FROM (SELECT ranges, greatest(coalesce($4::bigint, -1), coalesce(upper(ranges) - $2::bigint, -1)) AS last_tick FROM known) k
     ), old AS MATERIALIZED (
       SELECT gap_start_tick, gap_end_tick, first_detected, status, is_manual,
              int8multirange(int8range(gap_start_tick, gap_end_tick + $2::bigint)) AS ranges
       FROM sim.coordinator_gaps WHERE indexer_class = $1
     ), kept AS (
       SELECT old.*, CASE WHEN is_manual THEN old.ranges - known.ranges ELSE old.ranges * missing.ranges END AS rest
       FROM old, known, missing
     ), pieces AS (
       SELECT piece, is_manual,
              CASE WHEN status = 'permanent' AND rest <> ranges THEN clock_timestamp() ELSE first_detected END AS first_detected,
              CASE WHEN rest <> ranges THEN 'pending' ELSE status END AS status
       FROM kept, unnest(rest) AS piece
       UNION ALL
       SELECT piece, false, clock_timestamp(), 'pending'
       FROM missing, unnest(missing.ranges - coalesce((SELECT range_agg(o.ranges) FROM old o), '{}')) AS piece
     ), wanted AS MATERIALIZED (
       SELECT * FROM (
         SELECT $3::bigint + ((lower(piece) - $3::bigint + $2::bigint - 1) / $2::bigint) * $2::bigint AS gap_start_tick,
                $3::bigint + ((upper(piece) - 1 - $3::bigint) / $2::bigint) * $2::bigint AS gap_end_tick,
                first_detected, status, is_manual
         FROM pieces
       ) on_grid
       WHERE gap_end_tick >= gap_start_tick
     ), closed AS (
       DELETE FROM sim.coordinator_gaps g
       WHERE indexer_class = $1 AND NOT EXISTS (SELECT FROM wanted w WHERE w.gap_start_tick = g.gap_start_tick)
       RETURNING 1
     ), opened AS (
       INSERT INTO sim.coordinator_gaps (indexer_class, gap_start_tick, gap_end_tick, first_detected, status, is_manual)
       SELECT $1, gap_start_tick, gap_end_tick, first_detected, status, is_manual FROM wanted
       ON CONFLICT (indexer_class, gap_start_tick) DO UPDATE
         SET gap_end_tick = excluded.gap_end_tick, first_detected = excluded.first_detected,
             status = excluded.status, is_manual = excluded.is_manual
         WHERE (coordinator_gaps.gap_end_tick, coordinator_gaps.first_detected, coordinator_gaps.status)
               IS DISTINCT FROM (excluded.gap_end_tick, excluded.first_detected, excluded.status)
       RETURNING xmax = 0 AS is_new
     )
     SELECT (SELECT count(*) FROM opened WHERE is_new) AS opened,
            (SELECT count(*) FROM closed) AS closed,
            (SELECT count(*) FROM wanted WHERE status = 'pending') AS pending,
            (SELECT count(*) FROM wanted WHERE status = 'permanent') AS permanent,
            (SELECT count(*) FROM sim.batch_files WHERE NOT is_summarised) AS unsummarised`,
    [indexerClass, expected.samplingInterval, expected.start, expected.declaredEnd],
  );
  const counts = rows[0];
  return {
    opened: Number(counts?.opened),
    closed: Number(counts?.closed),
    pending: Number(counts?.pending),
    permanent: Number(counts?.permanent),
    unsummarised: Number(counts?.unsummarised),
  };
}

/**
 * Folds at most `limit` files into the summary of known ranges, so that the next reconciliation costs
 * as much as there are gaps, not files. The files' rows stay: redelivery needs them. Call it under
 * lockGaps.
 */
export async function summariseFiles(
  tx: Transaction,
  samplingInterval: number,
  limit: number,
): Promise<void> {
  await tx.query(
    `WITH folded AS MATERIALIZED (
       SELECT batch_filename, int8range(tick_start, tick_end + $1::bigint) AS range
       FROM sim.batch_files WHERE NOT is_summarised ORDER BY batch_filename LIMIT $2
     ), marked AS (
       UPDATE sim.batch_files f SET is_summarised = true FROM folded WHERE f.batch_filename = folded.batch_filename
     ), summary AS MATERIALIZED (
       SELECT lower(range) AS range_start, upper(range) AS range_end
       FROM unnest((
         SELECT range_agg(range) FROM (
           SELECT int8range(range_start, range_end) AS range FROM sim.known_ranges UNION ALL SELECT range FROM folded
         ) r
       )) AS range
     ), merged AS (
       DELETE FROM sim.known_ranges k WHERE NOT EXISTS (SELECT FROM summary s WHERE s.range_start = k.range_start)
     )
     INSERT INTO sim.known_ranges (range_start, range_end) SELECT range_start, range_end FROM summary
     ON CONFLICT (range_start) DO UPDATE SET range_end = excluded.range_end
       WHERE known_ranges.range_end <> excluded.range_end`,
    [samplingInterval, limit],
  );
}
