import type { Executor } from "../../database/index.ts";
import type { MisfirePolicy, Times } from "../schedule.ts";
import type { SegmentGrant } from "../worker-info.ts";

/** A job whose time has come, as a worker sees it. Times are milliseconds: parsing dates would cost more. */
export interface DueJob extends Times {
  readonly jobId: number;
  readonly segmentId: number;
  readonly revision: number;
  readonly nextFireMs: number;
  readonly jitterMs: number;
  /** Only where there is jitter. */
  readonly jobKey: string | null;
  readonly misfirePolicy: MisfirePolicy;
  readonly misfireGraceMs: number;
  readonly catchUpWindowMs: number;
  readonly avoidsOverlap: boolean;
  /** The database's time when it was found. */
  readonly nowMs: number;
}

const ms = (column: string) => `(date_part('epoch', ${column}) * 1000)::bigint`;

/**
 * Due jobs of these segments, the oldest of each first. One index scan with a limit per segment: `= ANY` with
 * ORDER BY read fifteen times as many buffers. The time is a subquery, so that it is taken once and bounds the scan.
 */
export async function selectDueJobs(
  executor: Executor,
  segmentIds: readonly number[],
  { perSegment, limit }: { readonly perSegment: number; readonly limit: number },
): Promise<DueJob[]> {
  const { rows } = await executor.query<DueJob>(
    `SELECT d.job_id AS "jobId", d.segment_id AS "segmentId", d.revision, ${ms("d.next_fire_at")} AS "nextFireMs",
            j.schedule_kind AS kind, ${ms("j.anchor_at")} AS "anchorMs", j.every_ms AS "everyMs", j.cron,
            j.time_zone AS "timeZone", ${ms("j.start_at")} AS "startMs", ${ms("j.end_at")} AS "endMs",
            j.jitter_ms AS "jitterMs", CASE WHEN j.jitter_ms > 0 THEN j.job_key END AS "jobKey",
            j.misfire_policy AS "misfirePolicy", j.misfire_grace_ms AS "misfireGraceMs",
            j.catch_up_window_ms AS "catchUpWindowMs", j.overlap_policy = 'SKIP' AS "avoidsOverlap",
            ${ms("t.at")} AS "nowMs"
     FROM (SELECT clock_timestamp() AS at) t
     CROSS JOIN (SELECT due.* FROM unnest($1::int[]) AS g (segment_id) CROSS JOIN LATERAL (
       SELECT s.job_id, s.segment_id, s.revision, s.next_fire_at FROM tallyman.scheduler_job_state s
       WHERE s.segment_id = g.segment_id AND s.due_at <= (SELECT clock_timestamp())
       ORDER BY s.due_at LIMIT $2) due LIMIT $3) d
     JOIN tallyman.scheduler_job j ON j.job_id = d.job_id`,
    [`{${segmentIds.join(",")}}`, perSegment, limit],
  );
  return rows;
}

/** Milliseconds until the first job of these segments is due, by the database's clock; null when none waits. */
export async function selectMsUntilDue(
  executor: Executor,
  segmentIds: readonly number[],
): Promise<number | null> {
  const { rows } = await executor.query<{ ms: number | null }>(
    `SELECT (extract(epoch FROM min(due.due_at) - clock_timestamp()) * 1000)::float8 AS ms
     FROM unnest($1::int[]) AS g (segment_id) CROSS JOIN LATERAL (
       SELECT s.due_at FROM tallyman.scheduler_job_state s
       WHERE s.segment_id = g.segment_id AND s.due_at IS NOT NULL ORDER BY s.due_at LIMIT 1) due`,
    [`{${segmentIds.join(",")}}`],
  );
  return rows[0]?.ms ?? null;
}

/** A job as the worker saw it; one that was changed since, or is held by somebody, is left alone. */
export interface SeenJob {
  readonly jobId: number;
  readonly revision: number;
  readonly expectedMs: number;
}

/** One job to fire, or to move past what it missed. */
export interface Fire extends SeenJob {
  readonly fireMs: number | null;
  readonly nextMs: number | null;
  readonly dueMs: number | null;
  readonly missedUntilMs: number | null;
  readonly avoidsOverlap: boolean;
  readonly runId: string;
}

/** What a call of {@link fireJobs} did. */
export interface Fired {
  /** Jobs that moved on; the others were changed meanwhile, are held, or are in a segment that is not ours any more. */
  readonly advanced: number;
  readonly fired: number;
  readonly missed: number;
  readonly overlapped: number;
  /** Domains that have new commands. */
  readonly domains: readonly string[];
  /** Segments that the worker no longer holds under the epoch it named. */
  readonly lostSegments: readonly number[];
}

/** Fires jobs, all of them or none, fenced by the segments' epochs; one statement and its own transaction. */
export async function fireJobs(
  executor: Executor,
  workerId: string,
  grants: readonly SegmentGrant[],
  fires: readonly Fire[],
): Promise<Fired> {
  const { rows } = await executor.query<Fired>(
    `SELECT advanced, fired, missed, overlapped, domains, lost_segments AS "lostSegments"
     FROM tallyman.scheduler_fire_jobs($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    [
      workerId,
      list(grants, ({ segmentId }) => segmentId),
      list(grants, ({ epoch }) => epoch),
      list(fires, ({ jobId }) => jobId),
      list(fires, ({ revision }) => revision),
      list(fires, ({ expectedMs }) => expectedMs),
      list(fires, ({ fireMs }) => fireMs),
      list(fires, ({ nextMs }) => nextMs),
      list(fires, ({ dueMs }) => dueMs),
      list(fires, ({ missedUntilMs }) => missedUntilMs),
      list(fires, ({ avoidsOverlap }) => (avoidsOverlap ? "t" : "f")),
      list(fires, ({ runId }) => runId),
    ],
  );
  return rows[0] as Fired;
}

/** An array as PostgreSQL reads it; the values are numbers and UUIDs, which need no quotes. */
function list<T>(items: readonly T[], value: (item: T) => number | string | null): string {
  return `{${items.map((item) => value(item) ?? "NULL").join(",")}}`;
}

/** Parks a job whose fire failed, fenced as a fire is; false when it was changed meanwhile, or is held. */
export async function parkJob(
  executor: Executor,
  workerId: string,
  grants: readonly SegmentGrant[],
  { jobId, revision, expectedMs }: SeenJob,
  error: { readonly code: string; readonly message: string },
): Promise<boolean> {
  const { rows } = await executor.query<{ parked: boolean }>(
    "SELECT tallyman.scheduler_park_job($1, $2, $3, $4, $5, $6, $7, $8) AS parked",
    [
      workerId,
      list(grants, ({ segmentId }) => segmentId),
      list(grants, ({ epoch }) => epoch),
      jobId,
      revision,
      expectedMs,
      error.code,
      error.message,
    ],
  );
  return rows[0]?.parked === true;
}
