import type { Database } from "../../src/database/index.ts";

export const workers: readonly string[] = ["w0", "w1", "w2", "w3"];
export const firesPerStatement = 1_000;
const everyMs = 600_000;

/** Whether the jobs' time has come. */
export type Due = "now" | "never";

/** Which jobs. */
export interface Seed {
  readonly count: number;
  readonly kind: "interval" | "cron-shared" | "cron-distinct";
  readonly due: Due;
}

const zones = `ARRAY['Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe', 'Africa/Cairo',
  'Pacific/Chatham', 'America/Santiago', 'UTC']`;

const columns: Readonly<Record<Seed["kind"], string>> = {
  interval: `'INTERVAL', NULL, NULL, ${everyMs}::bigint, clock_timestamp() - i * interval '0.5 ms'`,
  "cron-shared": `'CRON', (i % 8) * 7 || ' * * * *', (${zones})[1 + i / 8 % 8], NULL::bigint, NULL::timestamptz`,
  "cron-distinct": `'CRON', i % 60 || ' ' || i / 60 % 24 || ' ' || 1 + i / 1440 % 28 || ' ' || 1 + i / 40320 % 12 || ' *',
    (${zones})[1 + i % 8], NULL::bigint, NULL::timestamptz`,
};

/** Jobs with a command of some 150 bytes each, spread over the segments; written past the job store, which would take longer. */
export async function seedJobs(database: Database, { count, kind, due }: Seed): Promise<void> {
  await database.query(
    `INSERT INTO tallyman.scheduler_job (job_key, schedule_kind, cron, time_zone, every_ms, anchor_at, jitter_ms,
       misfire_policy, misfire_grace_ms, catch_up_window_ms, overlap_policy, target, domain, commands)
     SELECT 'job-' || i, k.*, 0, 'FIRE_ONCE', 10000, 604800000, 'ALLOW', 'COMMAND', 'bench',
       ARRAY['{"command_type":"T","data":{"n":' || i || ',"pad":"' || repeat('x', 100) || '"}}']
     FROM generate_series(1, $1::int) i CROSS JOIN LATERAL (SELECT ${columns[kind]}) k`,
    [count],
  );
  const at =
    due === "now"
      ? "clock_timestamp() - j.job_id * interval '0.01 ms'"
      : "clock_timestamp() + interval '1 day'";
  await database.query(
    `INSERT INTO tallyman.scheduler_job_state (job_id, segment_id, next_fire_at, due_at)
     SELECT j.job_id, tallyman.scheduler_segment_of(j.job_key, 100), coalesce(j.anchor_at, ${at}), ${at}
     FROM tallyman.scheduler_job j`,
  );
  await database.query("VACUUM ANALYZE tallyman.scheduler_job, tallyman.scheduler_job_state");
  await database.query("CHECKPOINT");
}

/** Gives each worker its share of the segments, as a leader would; a segment's first epoch is 1. */
export async function assignSegments(database: Database): Promise<void> {
  await database.query(
    "UPDATE tallyman.scheduler_segment SET status = 'ASSIGNED', worker_id = 'w' || segment_id % $1, assigned_at = clock_timestamp(), epoch = 1",
    [workers.length],
  );
}

/** What a worker does in one turn, without our code: the same look for due jobs, the same fire. */
export function fireScript(): string {
  return `SELECT f.fired FROM (
    SELECT array_agg(d.job_id) AS ids, array_agg(d.revision) AS revisions, array_agg(d.ms) AS expected, array_agg(d.ms + ${everyMs}) AS next,
           array_agg(NULL::bigint) AS missed, array_agg(false) AS overlap, array_agg(gen_random_uuid()) AS runs
    FROM (SELECT due.* FROM (SELECT n * 4 + :client_id AS segment_id FROM generate_series(0, 24) n) g CROSS JOIN LATERAL (
      SELECT s.job_id, s.revision, (date_part('epoch', s.next_fire_at) * 1000)::bigint AS ms FROM tallyman.scheduler_job_state s
      WHERE s.segment_id = g.segment_id AND s.due_at <= (SELECT clock_timestamp()) ORDER BY s.due_at LIMIT ${firesPerStatement / 25}) due
      LIMIT ${firesPerStatement}) d) x,
    tallyman.scheduler_fire_jobs('w' || :client_id, ARRAY(SELECT n * 4 + :client_id FROM generate_series(0, 24) n),
      array_fill(1::bigint, ARRAY[25]), x.ids, x.revisions, x.expected, x.expected, x.next, x.next, x.missed, x.overlap, x.runs) f
    WHERE x.ids IS NOT NULL;`.replaceAll(/\s+/g, " ");
}

/** Fires that are durable. */
export async function firesSoFar(database: Database): Promise<number> {
  const { rows } = await database.query<{ n: number }>(
    "SELECT sum(fire_count)::bigint AS n FROM tallyman.scheduler_job_state",
  );
  return rows[0]?.n ?? 0;
}
