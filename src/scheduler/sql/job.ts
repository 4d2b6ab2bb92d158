import { type Executor, pipelined, type Transaction } from "../../database/index.ts";
import type { JobStatus, OverlapPolicy } from "../job.ts";
import type { Payload } from "../job-definition.ts";
import type { MisfirePolicy, Times } from "../schedule.ts";

const ms = (column: string) => `(date_part('epoch', ${column}) * 1000)::bigint`;
const time = (column: string) => `tallyman.scheduler_time(${column})`;

/** Everything that is stored about a job. Times are milliseconds. */
export interface JobRow extends Times, Omit<Payload, "commands"> {
  readonly jobKey: string;
  readonly maxFires: number | null;
  readonly jitterMs: number;
  readonly misfirePolicy: MisfirePolicy;
  readonly misfireGraceMs: number;
  readonly catchUpWindowMs: number;
  readonly overlapPolicy: OverlapPolicy;
  readonly enabled: boolean;
  readonly nextFireMs: number | null;
  readonly dueMs: number | null;
}

/** A job as it is stored first, or anew. */
export interface JobToStore extends JobRow {
  /** Null: keep what is stored. */
  readonly commands: readonly string[] | null;
  readonly firesLeft: number | null;
}

/** A job as it is read. */
export interface StoredJob extends JobRow {
  readonly jobId: number;
  readonly segmentId: number;
  readonly status: JobStatus;
  readonly commandCount: number;
  /** Only where they were asked for. */
  readonly commands: readonly string[] | null;
  readonly fireCount: number;
  readonly lastFireMs: number | null;
  readonly lastRunId: string | null;
  readonly pausedMs: number | null;
  readonly parkedMs: number | null;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
  readonly createdMs: number;
  readonly updatedMs: number;
}

/** The columns of {@link JobToStore} as the server reads them from JSON. */
const givenColumns = `"jobKey" text, kind text, "anchorMs" bigint, "everyMs" bigint, cron text, "timeZone" text,
  "startMs" bigint, "endMs" bigint, "maxFires" integer, "jitterMs" bigint, "misfirePolicy" text, "misfireGraceMs" bigint,
  "catchUpWindowMs" bigint, "overlapPolicy" text, target text, domain text, "batchName" text, "fireField" text,
  commands text[], enabled boolean, "nextFireMs" bigint, "dueMs" bigint, "firesLeft" integer`;

const definitionColumns = `schedule_kind, anchor_at, every_ms, cron, time_zone, start_at, end_at, max_fires, jitter_ms,
  misfire_policy, misfire_grace_ms, catch_up_window_ms, overlap_policy, target, domain, batch_name, fire_field`;

const definitionValues = `x.kind, ${time('x."anchorMs"')}, x."everyMs", x.cron, x."timeZone", ${time('x."startMs"')},
  ${time('x."endMs"')}, x."maxFires", x."jitterMs", x."misfirePolicy", x."misfireGraceMs", x."catchUpWindowMs",
  x."overlapPolicy", x.target, x.domain, x."batchName", x."fireField"`;

/**
 * Stores new jobs, all or none, each in the segment of its key. The number of segments is locked, so that it
 * can't change under them: who changes it waits, then moves them too.
 */
export async function insertJobs(executor: Executor, jobs: readonly JobToStore[]): Promise<void> {
  await executor.query(
    `WITH n AS MATERIALIZED (SELECT segment_count FROM tallyman.scheduler_settings FOR SHARE),
     x AS MATERIALIZED (SELECT * FROM jsonb_to_recordset($1::jsonb) AS x (${givenColumns})),
     j AS (
       INSERT INTO tallyman.scheduler_job (job_key, ${definitionColumns}, commands)
       SELECT x."jobKey", ${definitionValues}, x.commands FROM x RETURNING job_id, job_key
     )
     INSERT INTO tallyman.scheduler_job_state (job_id, segment_id, fires_left, next_fire_at, due_at, is_enabled)
     SELECT j.job_id, tallyman.scheduler_segment_of(j.job_key, n.segment_count), x."firesLeft",
            ${time('x."nextFireMs"')}, ${time('x."dueMs"')}, x.enabled
     FROM n, j JOIN x ON x."jobKey" = j.job_key`,
    [JSON.stringify(jobs)],
  );
}

const statusSql = `CASE WHEN s.parked_at IS NOT NULL THEN 'PARKED' WHEN s.next_fire_at IS NULL THEN 'FINISHED'
  WHEN NOT s.is_enabled THEN 'DISABLED' WHEN s.paused_at IS NOT NULL THEN 'PAUSED' ELSE 'SCHEDULED' END`;

const jobColumns = `j.job_id AS "jobId", j.job_key AS "jobKey", j.schedule_kind AS kind, ${ms("j.anchor_at")} AS "anchorMs",
  j.every_ms AS "everyMs", j.cron, j.time_zone AS "timeZone", ${ms("j.start_at")} AS "startMs", ${ms("j.end_at")} AS "endMs",
  j.max_fires AS "maxFires", j.jitter_ms AS "jitterMs", j.misfire_policy AS "misfirePolicy",
  j.misfire_grace_ms AS "misfireGraceMs", j.catch_up_window_ms AS "catchUpWindowMs", j.overlap_policy AS "overlapPolicy",
  j.target, j.domain, j.batch_name AS "batchName", j.fire_field AS "fireField", cardinality(j.commands) AS "commandCount",
  s.segment_id AS "segmentId", s.is_enabled AS enabled, ${ms("s.next_fire_at")} AS "nextFireMs", ${ms("s.due_at")} AS "dueMs",
  s.fire_count AS "fireCount", ${ms("s.last_fire_at")} AS "lastFireMs", s.last_run_id AS "lastRunId",
  ${ms("s.paused_at")} AS "pausedMs", ${ms("s.parked_at")} AS "parkedMs", s.error_code AS "errorCode",
  s.error_message AS "errorMessage", ${ms("j.created_at")} AS "createdMs", ${ms("j.updated_at")} AS "updatedMs",
  ${statusSql} AS status`;

/** One job with its commands; undefined when there is none. */
export async function selectJob(executor: Executor, key: string): Promise<StoredJob | undefined> {
  const { rows } = await executor.query<StoredJob>(
    `SELECT ${jobColumns}, j.commands FROM tallyman.scheduler_job j JOIN tallyman.scheduler_job_state s USING (job_id)
     WHERE j.job_key = $1`,
    [key],
  );
  return rows[0] && numbered(rows[0]);
}

/** A job and the database's time, held until the transaction ends: no worker fires it meanwhile. */
export async function lockJob(
  tx: Transaction,
  key: string,
): Promise<{ readonly job: StoredJob; readonly nowMs: number } | undefined> {
  const locked = tx.query(
    `SELECT FROM tallyman.scheduler_job_state s WHERE s.job_id = (SELECT job_id FROM tallyman.scheduler_job WHERE job_key = $1)
     FOR UPDATE`,
    [key],
  );
  const read = tx.query<StoredJob & { nowMs: number }>(
    `SELECT ${jobColumns}, j.commands, ${ms("clock_timestamp()")} AS "nowMs"
     FROM tallyman.scheduler_job j JOIN tallyman.scheduler_job_state s USING (job_id) WHERE j.job_key = $1`,
    [key],
  );
  const [, { rows }] = await pipelined(locked, read);
  return rows[0] && { job: numbered(rows[0]), nowMs: Number(rows[0].nowMs) };
}

/** Which jobs. */
export interface JobPage {
  readonly status: JobStatus | null;
  readonly limit: number;
  /** The last key of the page before. */
  readonly cursor: string | null;
}

/** Jobs in the order of their keys. */
export async function selectJobs(executor: Executor, page: JobPage): Promise<StoredJob[]> {
  const { rows } = await executor.query<StoredJob>(
    `SELECT ${jobColumns} FROM tallyman.scheduler_job j JOIN tallyman.scheduler_job_state s USING (job_id)
     WHERE ($3::text IS NULL OR j.job_key > $3) AND ($1::text IS NULL OR ${statusSql} = $1)
     ORDER BY j.job_key LIMIT $2`,
    [page.status, page.limit, page.cursor],
  );
  return rows.map(numbered);
}

/** How the job store is doing. */
export interface JobHealth {
  /** Jobs whose fire failed, and which wait for somebody to look at them. */
  readonly parked: number;
  /** How long the job that is due longest waits by now; null when none is due. */
  readonly overdueMs: number | null;
}

/** Figures for `doctor`; reads only small indexes, and the first entry of each segment. */
export async function selectJobHealth(executor: Executor): Promise<JobHealth> {
  const { rows } = await executor.query<JobHealth>(
    `SELECT (SELECT count(*) FROM tallyman.scheduler_job_state WHERE parked_at IS NOT NULL)::integer AS parked,
            (SELECT date_part('epoch', clock_timestamp() - min(due.due_at)) * 1000
             FROM tallyman.scheduler_segment g CROSS JOIN LATERAL (
               SELECT s.due_at FROM tallyman.scheduler_job_state s
               WHERE s.segment_id = g.segment_id AND s.due_at <= (SELECT clock_timestamp())
               ORDER BY s.due_at LIMIT 1) due) AS "overdueMs"`,
  );
  return rows[0] ?? { parked: 0, overdueMs: null };
}

/** Stores a job anew; the caller has locked it. A parked job is free again. */
export async function updateJob(tx: Transaction, jobId: number, job: JobToStore): Promise<void> {
  const given = JSON.stringify([job]);
  const definition = tx.query(
    `UPDATE tallyman.scheduler_job j SET (${definitionColumns}, commands, updated_at) =
       (SELECT ${definitionValues}, coalesce(x.commands, j.commands), clock_timestamp()
        FROM jsonb_to_recordset($2::jsonb) AS x (${givenColumns}))
     WHERE j.job_id = $1`,
    [jobId, given],
  );
  const state = tx.query(
    `UPDATE tallyman.scheduler_job_state s
     SET revision = s.revision + 1, fires_left = x."firesLeft", next_fire_at = ${time('x."nextFireMs"')},
         due_at = ${time('x."dueMs"')}, is_enabled = x.enabled, parked_at = NULL, error_code = NULL, error_message = NULL
     FROM jsonb_to_recordset($2::jsonb) AS x (${givenColumns}) WHERE s.job_id = $1`,
    [jobId, given],
  );
  await pipelined(definition, state);
}

/** Pauses a job, or lets it go on (`dueMs`: when it may fire); the caller has locked it. */
export async function setPaused(
  tx: Transaction,
  jobId: number,
  state: { readonly isPaused: boolean; readonly dueMs: number | null },
): Promise<void> {
  await tx.query(
    `UPDATE tallyman.scheduler_job_state s
     SET revision = s.revision + 1, due_at = ${time("$3::bigint")},
         paused_at = CASE WHEN $2 THEN coalesce(s.paused_at, clock_timestamp()) END,
         parked_at = CASE WHEN $2 THEN s.parked_at END, error_code = CASE WHEN $2 THEN s.error_code END,
         error_message = CASE WHEN $2 THEN s.error_message END
     WHERE s.job_id = $1`,
    [jobId, state.isPaused, state.dueMs],
  );
}

/** Removes a job with its history; the caller has locked it. */
export async function deleteJob(tx: Transaction, jobId: number): Promise<void> {
  await tx.query(
    `WITH f AS (DELETE FROM tallyman.scheduler_fire WHERE job_id = $1)
     DELETE FROM tallyman.scheduler_job WHERE job_id = $1`,
    [jobId],
  );
}

/** Runs a job by hand, at once; undefined when there is none. */
export async function runJob(
  executor: Executor,
  key: string,
  runId: string,
): Promise<{ readonly fireMs: number; readonly domain: string } | undefined> {
  const { rows } = await executor.query<{ fireMs: number; domain: string }>(
    `SELECT fire_ms AS "fireMs", domain FROM tallyman.scheduler_run_job($1, $2)`,
    [key, runId],
  );
  return rows[0] && { ...rows[0], fireMs: Number(rows[0].fireMs) };
}

/** Puts every job into the segment of its key among `segmentCount`; the caller has locked all segments. */
export async function remapJobs(tx: Transaction, segmentCount: number): Promise<void> {
  await tx.query(
    `UPDATE tallyman.scheduler_job_state s SET segment_id = tallyman.scheduler_segment_of(j.job_key, $1)
     FROM tallyman.scheduler_job j
     WHERE j.job_id = s.job_id AND s.segment_id <> tallyman.scheduler_segment_of(j.job_key, $1)`,
    [segmentCount],
  );
}

const numberFields = [
  "jobId",
  "anchorMs",
  "everyMs",
  "startMs",
  "endMs",
  "jitterMs",
  "misfireGraceMs",
  "catchUpWindowMs",
  "nextFireMs",
  "dueMs",
  "fireCount",
  "lastFireMs",
  "pausedMs",
  "parkedMs",
  "createdMs",
  "updatedMs",
] as const satisfies readonly (keyof StoredJob)[];

/** A caller's own client hands int8 over as text. */
function numbered(row: StoredJob): StoredJob {
  const numbers = numberFields.map((field) => [field, row[field] === null ? null : Number(row[field])]);
  return { ...row, ...Object.fromEntries(numbers) };
}
