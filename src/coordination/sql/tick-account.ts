import type { Executor } from "../../database/index.ts";
import { type ExpectedTicks, knownRanges } from "./reconcile-gaps.ts";

/** The class that an expected tick is in; exactly one. */
export type TickClass = "indexed" | "in_flight" | "failed" | "pending" | "permanent";

/** A range of ticks of one class; both bounds belong to it. */
export interface TickRange {
  readonly tickClass: TickClass;
  readonly start: number;
  readonly end: number;
}

/**
 * Every expected tick of an indexer class with the class it is in, as ranges in tick order. Where files
 * overlap the better news wins: indexed, then failed, then in flight. Ticks that are in no class come
 * last as `missing`; after a reconciliation there are none.
 */
export async function tickRanges(
  executor: Executor,
  indexerClass: string,
  expected: ExpectedTicks,
): Promise<(Omit<TickRange, "tickClass"> & { tickClass: TickClass | "missing" })[]> {
  const { rows } = await executor.query<{ tickClass: TickClass; start: number; end: number }>(
    `WITH files AS (
       SELECT coalesce(range_agg(int8range(tick_start, tick_end + $2::bigint)) FILTER (WHERE status = 'completed'), '{}') AS completed,
              coalesce(range_agg(int8range(tick_start, tick_end + $2::bigint)) FILTER (WHERE status = 'failed'), '{}') AS failed
       FROM sim.coordinator_batches WHERE indexer_class = $1
     ), known AS (${knownRanges}
     ), gaps AS (
       SELECT coalesce(range_agg(int8range(gap_start_tick, gap_end_tick + $2::bigint)) FILTER (WHERE status = 'pending'), '{}') AS pending,
              coalesce(range_agg(int8range(gap_start_tick, gap_end_tick + $2::bigint)) FILTER (WHERE status = 'permanent'), '{}') AS permanent
       FROM sim.coordinator_gaps WHERE indexer_class = $1
     ), expected AS (
       SELECT CASE WHEN last_tick < $3::bigint THEN '{}'::int8multirange ELSE int8multirange(int8range($3::bigint, last_tick + $2::bigint)) END AS ranges
       FROM (SELECT greatest(coalesce($4::bigint, -1), coalesce(upper(known.ranges + files.completed) - $2::bigint, -1)) AS last_tick FROM known, files) k
     ), classes AS (
       SELECT 'indexed' AS class, completed * expected.ranges AS ranges FROM files, expected
       UNION ALL SELECT 'failed', (failed - completed) * expected.ranges FROM files, expected
       UNION ALL SELECT 'in_flight', (known.ranges - completed - failed) * expected.ranges FROM known, files, expected
       UNION ALL SELECT 'pending', (pending - known.ranges - completed) * expected.ranges FROM gaps, known, files, expected
       UNION ALL SELECT 'permanent', (permanent - pending - known.ranges - completed) * expected.ranges FROM gaps, known, files, expected
       UNION ALL SELECT 'missing', expected.ranges - known.ranges - completed - failed - pending - permanent FROM expected, known, files, gaps
     )
     SELECT class AS "tickClass", lower(range) AS start, upper(range) - $2::bigint AS "end"
     FROM classes, unnest(ranges) AS range ORDER BY lower(range)`,
    [indexerClass, expected.samplingInterval, expected.start, expected.declaredEnd],
  );
  return rows.map((row) => ({ ...row, start: Number(row.start), end: Number(row.end) }));
}

/** How many files an instance has in each status. */
export interface ClaimCount {
  readonly indexerClass: string;
  readonly status: "claimed" | "completed" | "failed";
  readonly instanceId: string | null;
  readonly files: number;
}

/** Instances come and go, each with an id of its own. */
const claimCountsMax = 10_000;

/** Files by indexer class, status and instance; 10,000 such counts at most. */
export async function countClaims(executor: Executor): Promise<ClaimCount[]> {
  const { rows } = await executor.query<ClaimCount>(
    `SELECT indexer_class AS "indexerClass", status, indexer_instance_id AS "instanceId", count(*)::int AS files
     FROM sim.coordinator_batches GROUP BY 1, 2, 3 ORDER BY 1, 2, 3 LIMIT $1`,
    [claimCountsMax],
  );
  return rows;
}

/** The indexer classes in a table whose key begins with them: walks from one to the next along the key. */
const classesIn = (table: string) => `
  WITH RECURSIVE present AS (
    (SELECT indexer_class FROM sim.${table} ORDER BY indexer_class LIMIT 1)
    UNION ALL
    SELECT (SELECT next.indexer_class FROM sim.${table} next WHERE next.indexer_class > present.indexer_class
            ORDER BY next.indexer_class LIMIT 1)
    FROM present WHERE present.indexer_class IS NOT NULL
  )
  SELECT indexer_class AS name FROM present WHERE indexer_class IS NOT NULL`;

/** The indexer classes that have worked on the run. */
export async function listIndexerClasses(executor: Executor): Promise<string[]> {
  const { rows } = await executor.query<{ name: string }>(
    `SELECT name FROM (${classesIn("coordinator_batches")}) batches
     UNION SELECT name FROM (${classesIn("coordinator_gaps")}) gaps ORDER BY 1`,
  );
  return rows.map((row) => row.name);
}

/** Files of an indexer class by the instance that claimed them last. */
export interface InstanceClaims {
  readonly instanceId: string;
  readonly claimed: number;
  readonly completed: number;
}

/** Who works on what: the instances of an indexer class, the busiest first. */
export async function claimsByInstance(executor: Executor, indexerClass: string): Promise<InstanceClaims[]> {
  const { rows } = await executor.query<InstanceClaims>(
    `SELECT indexer_instance_id AS "instanceId", count(*) FILTER (WHERE status = 'claimed') AS claimed,
            count(*) FILTER (WHERE status = 'completed') AS completed
     FROM sim.coordinator_batches WHERE indexer_class = $1 AND indexer_instance_id IS NOT NULL
     GROUP BY 1 ORDER BY count(*) DESC, 1`,
    [indexerClass],
  );
  return rows;
}
