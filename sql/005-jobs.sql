-- The job store: what fires when, what it puts on the command bus, and what became of each time.
--
-- A job is two rows. The definition is wide and changes when somebody edits it; the state is narrow and
-- changes with every fire, so that a fire rewrites a hundred bytes and two index entries, whatever the
-- size of the payload. Times are milliseconds (timestamptz(3)), as JavaScript has them.
CREATE TABLE tallyman.scheduler_job (
  job_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  job_key varchar(255) NOT NULL,
  schedule_kind varchar(20) NOT NULL,
  -- The time of a single fire, or the zero of an interval's grid.
  anchor_at timestamptz(3),
  every_ms bigint,
  cron varchar(255),
  time_zone varchar(255),
  start_at timestamptz(3),
  end_at timestamptz(3),
  max_fires integer,
  jitter_ms bigint NOT NULL,
  misfire_policy varchar(20) NOT NULL,
  misfire_grace_ms bigint NOT NULL,
  catch_up_window_ms bigint NOT NULL,
  overlap_policy varchar(20) NOT NULL,
  target varchar(20) NOT NULL,
  domain varchar(255) NOT NULL,
  batch_name varchar(255),
  -- The name of the field of each command's data that says which job fired, and for which time.
  fire_field varchar(255),
  -- JSON objects, one line each, without ids. Text and not jsonb: a fire takes the data out as it stands, and
  -- taking jsonb apart and together again cost half as much as storing the command.
  commands text[] NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT scheduler_job_key UNIQUE (job_key),
  CONSTRAINT valid_schedule CHECK (CASE schedule_kind
    WHEN 'ONCE' THEN anchor_at IS NOT NULL
    WHEN 'INTERVAL' THEN anchor_at IS NOT NULL AND every_ms > 0
    WHEN 'CRON' THEN cron IS NOT NULL AND time_zone IS NOT NULL
    ELSE false END),
  CONSTRAINT valid_misfire_policy CHECK (misfire_policy IN ('SKIP', 'FIRE_ONCE', 'FIRE_ALL')),
  CONSTRAINT valid_overlap_policy CHECK (overlap_policy IN ('ALLOW', 'SKIP')),
  CONSTRAINT valid_target CHECK (target IN ('COMMAND', 'BATCH'))
);

CREATE TABLE tallyman.scheduler_job_state (
  job_id bigint PRIMARY KEY REFERENCES tallyman.scheduler_job (job_id) ON DELETE CASCADE,
  segment_id integer NOT NULL,
  -- Raised by every edit: a worker that decided by an older definition fires nothing.
  revision integer NOT NULL DEFAULT 1,
  fires_left integer,
  -- The time of the schedule that comes next; null when there is none. Only ever grows.
  next_fire_at timestamptz(3),
  -- That time plus its jitter; null while no worker may fire the job (disabled, paused, parked, finished).
  due_at timestamptz(3),
  last_fire_at timestamptz(3),
  fire_count bigint NOT NULL DEFAULT 0,
  -- The command or batch of the last fire.
  last_run_id uuid,
  is_enabled boolean NOT NULL DEFAULT true,
  paused_at timestamptz(3),
  parked_at timestamptz(3),
  error_code varchar(255),
  error_message text
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX idx_job_due ON tallyman.scheduler_job_state (segment_id, due_at) WHERE due_at IS NOT NULL;

CREATE INDEX idx_job_parked ON tallyman.scheduler_job_state (job_id) WHERE parked_at IS NOT NULL;

-- One row for each time that fired, for each run by hand, and for each range of times that did not.
-- The key is what makes a second fire for the same time impossible. No foreign key: it would cost as
-- much as the row, and removing a job removes its rows here first.
CREATE TABLE tallyman.scheduler_fire (
  job_id bigint NOT NULL,
  fire_time timestamptz(3) NOT NULL,
  is_manual boolean NOT NULL DEFAULT false,
  fired_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  -- The command or batch; null when there is none.
  run_id uuid,
  -- MISSED: the times of the schedule from fire_time until missed_until, without that.
  missed_until timestamptz(3),
  outcome varchar(20) NOT NULL CHECK (outcome IN ('FIRED', 'MISSED', 'OVERLAP')),
  PRIMARY KEY (job_id, fire_time, is_manual)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.2);

CREATE INDEX idx_fire_time ON tallyman.scheduler_fire USING brin (fired_at) WITH (pages_per_range = 32);

CREATE FUNCTION tallyman.scheduler_segment_of(p_key text, p_segments integer) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT abs(hashtextextended(p_key, 0) % p_segments)::integer $$;

CREATE FUNCTION tallyman.scheduler_time(p_ms bigint) RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT to_timestamp(p_ms::double precision / 1000) $$;

CREATE FUNCTION tallyman.scheduler_iso_time(p_ms bigint) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT to_char(tallyman.scheduler_time(p_ms) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') $$;

-- Stores a batch whose commands follow in the same transaction; returns that transaction's id.
CREATE FUNCTION tallyman.command_bus_insert_batch(p_batch_id uuid, p_domain text, p_name text, p_custom_data jsonb,
  p_total_count integer, p_is_sealed boolean, p_priority integer, p_expires_at timestamptz, p_completion jsonb)
RETURNS text LANGUAGE sql AS $$
  INSERT INTO tallyman.command_bus_batch
    (batch_id, domain, name, custom_data, total_count, is_sealed, priority, expires_at, completion)
  VALUES (p_batch_id, p_domain, p_name, p_custom_data, p_total_count, p_is_sealed, p_priority, p_expires_at, p_completion)
  RETURNING pg_current_xact_id()::text
$$;

-- Whether the command or batch of a fire has not ended; one that was pruned has.
CREATE FUNCTION tallyman.scheduler_is_running(p_target text, p_domain text, p_run_id uuid) RETURNS boolean
LANGUAGE sql STABLE AS $$
  SELECT CASE p_target
    WHEN 'COMMAND' THEN EXISTS (SELECT FROM tallyman.command_bus_command c
      WHERE c.domain = p_domain AND c.command_id = p_run_id AND c.finished_at IS NULL)
    ELSE EXISTS (SELECT FROM tallyman.command_bus_batch b WHERE b.batch_id = p_run_id AND b.completed_at IS NULL) END
$$;

-- Puts the runs of jobs on the command bus: one call of the bus's own function for each domain and for
-- each batch. p_fire_times in milliseconds.
CREATE FUNCTION tallyman.scheduler_enqueue(p_job_ids bigint[], p_fire_times bigint[], p_run_ids uuid[])
RETURNS text[] LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  run record;
  domains text[] := '{}';
BEGIN
  FOR run IN
    SELECT r.domain, r.batch_id, min(r.batch_name) AS batch_name, min(r.job_key) AS job_key, min(r.fire_time) AS fire_time,
           count(*)::integer AS total, array_agg(r.command_id) AS command_ids, array_agg(r.command_type) AS command_types,
           string_agg(r.data, E'\n') AS data, array_agg(r.correlation_id) AS correlation_ids,
           array_agg(r.reply_to) AS reply_to, array_agg(r.priority) AS priorities,
           array_agg(r.max_attempts) AS max_attempts
    FROM (
      SELECT j.domain, j.batch_name, j.job_key, f.fire_time, CASE WHEN j.target = 'BATCH' THEN f.run_id END AS batch_id,
             CASE WHEN j.target = 'BATCH' THEN gen_random_uuid() ELSE f.run_id END AS command_id,
             c.command_type, c.correlation_id, c.reply_to, c.priority, c.max_attempts,
             CASE WHEN j.fire_field IS NULL THEN c.data::text
               ELSE jsonb_set(c.data::jsonb, ARRAY[j.fire_field], jsonb_build_object('jobKey', j.job_key,
                 'fireTime', tallyman.scheduler_iso_time(f.fire_time)))::text END AS data
      FROM unnest(p_job_ids, p_fire_times, p_run_ids) AS f (job_id, fire_time, run_id)
      JOIN tallyman.scheduler_job j ON j.job_id = f.job_id
      CROSS JOIN LATERAL unnest(j.commands) AS t (command)
      CROSS JOIN LATERAL json_to_record(t.command::json)
        AS c (command_type text, data json, correlation_id uuid, reply_to text, priority integer, max_attempts integer)
    ) r
    GROUP BY r.domain, r.batch_id
  LOOP
    IF run.batch_id IS NOT NULL THEN
      PERFORM tallyman.command_bus_insert_batch(run.batch_id, run.domain, run.batch_name,
        jsonb_build_object('jobKey', run.job_key, 'fireTime', tallyman.scheduler_iso_time(run.fire_time)), run.total,
        true, 0, NULL, NULL);
    END IF;
    PERFORM tallyman.command_bus_enqueue(run.domain, run.batch_id, run.batch_id IS NOT NULL, run.command_ids,
      run.command_types, run.data, run.correlation_ids, run.reply_to, run.priorities, run.max_attempts, NULL);
    IF NOT run.domain = ANY (domains) THEN
      domains := domains || run.domain::text;
    END IF;
  END LOOP;
  RETURN domains;
END $$;

-- The fence of every fire: those of these segments that the worker holds under these epochs, which nobody can
-- take from it until the transaction ends. FOR SHARE waits for a change of owner that is under way and then
-- sees its result; a plain read would not.
CREATE FUNCTION tallyman.scheduler_hold_segments(p_worker text, p_segment_ids integer[], p_epochs bigint[])
RETURNS integer[] LANGUAGE plpgsql AS $$
BEGIN
  RETURN ARRAY (
    SELECT s.segment_id FROM tallyman.scheduler_segment s
    JOIN unnest(p_segment_ids, p_epochs) AS g (segment_id, epoch) ON g.segment_id = s.segment_id
    WHERE s.worker_id = p_worker AND s.epoch = g.epoch AND s.status = 'ASSIGNED'
    ORDER BY s.segment_id FOR SHARE OF s);
END $$;

-- Fires jobs, in one statement and therefore in one transaction that no stalled client can hold open:
-- locks the worker's segments on (owner, epoch), advances each job that still is where the worker saw it,
-- records the fire, and enqueues its commands. Whatever is not ours any more, or was changed meanwhile, is
-- left alone. The segments are locked in a statement before those that read the jobs.
--
-- Times are milliseconds. p_fired: the time to fire, null when the times from p_expected until p_next were
-- all missed; where it is later than p_expected, the times in between were missed.
CREATE FUNCTION tallyman.scheduler_fire_jobs(p_worker text, p_segment_ids integer[], p_epochs bigint[], p_job_ids bigint[],
  p_revisions integer[], p_expected bigint[], p_fired bigint[], p_next bigint[], p_due bigint[], p_missed_until bigint[],
  p_avoids_overlap boolean[], p_run_ids uuid[])
RETURNS TABLE (advanced integer, fired integer, missed integer, overlapped integer, domains text[], lost_segments integer[])
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  held integer[];
  job_ids bigint[];
  fire_times bigint[];
  run_ids uuid[];
BEGIN
  held := tallyman.scheduler_hold_segments(p_worker, p_segment_ids, p_epochs);
  WITH d AS MATERIALIZED (
    SELECT d.*, d.fired_ms IS NOT NULL AND NOT (d.avoids_overlap AND EXISTS (
             SELECT FROM tallyman.scheduler_job_state s JOIN tallyman.scheduler_job j ON j.job_id = s.job_id
             WHERE s.job_id = d.job_id AND tallyman.scheduler_is_running(j.target, j.domain, s.last_run_id))) AS is_firing
    FROM unnest(p_job_ids, p_revisions, p_expected, p_fired, p_next, p_due, p_missed_until, p_avoids_overlap, p_run_ids)
         AS d (job_id, revision, expected_ms, fired_ms, next_ms, due_ms, missed_until_ms, avoids_overlap, run_id)
  ), u AS (
    UPDATE tallyman.scheduler_job_state s
    SET next_fire_at = CASE WHEN d.is_firing AND s.fires_left = 1 THEN NULL ELSE tallyman.scheduler_time(d.next_ms) END,
        due_at = CASE WHEN d.is_firing AND s.fires_left = 1 THEN NULL ELSE tallyman.scheduler_time(d.due_ms) END,
        fires_left = CASE WHEN d.is_firing THEN s.fires_left - 1 ELSE s.fires_left END,
        fire_count = CASE WHEN d.is_firing THEN s.fire_count + 1 ELSE s.fire_count END,
        last_fire_at = coalesce(tallyman.scheduler_time(d.fired_ms), s.last_fire_at),
        last_run_id = CASE WHEN d.is_firing THEN d.run_id ELSE s.last_run_id END
    FROM d
    WHERE s.job_id = d.job_id AND s.revision = d.revision AND s.next_fire_at = tallyman.scheduler_time(d.expected_ms)
      AND s.due_at IS NOT NULL AND s.segment_id = ANY (held)
    RETURNING d.*
  ), f AS (
    INSERT INTO tallyman.scheduler_fire (job_id, fire_time, run_id, missed_until, outcome)
    SELECT u.job_id, tallyman.scheduler_time(u.fired_ms), CASE WHEN u.is_firing THEN u.run_id END, NULL,
           CASE WHEN u.is_firing THEN 'FIRED' ELSE 'OVERLAP' END
    FROM u WHERE u.fired_ms IS NOT NULL
    UNION ALL
    SELECT u.job_id, tallyman.scheduler_time(u.expected_ms), NULL, tallyman.scheduler_time(u.missed_until_ms), 'MISSED'
    FROM u WHERE u.missed_until_ms IS NOT NULL
    ON CONFLICT DO NOTHING
    RETURNING job_id, fire_time, run_id, outcome
  )
  SELECT (SELECT count(*) FROM u), count(*) FILTER (WHERE f.outcome = 'MISSED'), count(*) FILTER (WHERE f.outcome = 'OVERLAP'),
         array_agg(f.job_id) FILTER (WHERE f.outcome = 'FIRED'),
         array_agg((date_part('epoch', f.fire_time) * 1000)::bigint) FILTER (WHERE f.outcome = 'FIRED'),
         array_agg(f.run_id) FILTER (WHERE f.outcome = 'FIRED')
  INTO advanced, missed, overlapped, job_ids, fire_times, run_ids
  FROM f;
  fired := coalesce(cardinality(job_ids), 0);
  domains := CASE WHEN fired = 0 THEN '{}' ELSE tallyman.scheduler_enqueue(job_ids, fire_times, run_ids) END;
  lost_segments := ARRAY (SELECT unnest(p_segment_ids) EXCEPT SELECT unnest(held));
  RETURN NEXT;
END $$;

-- Runs a job by hand: a fire of its own, beside the schedule, which goes on as if nothing had happened.
CREATE FUNCTION tallyman.scheduler_run_job(p_key text, p_run_id uuid)
RETURNS TABLE (fire_ms bigint, domain text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  job record;
BEGIN
  SELECT j.job_id, j.domain::text AS domain INTO job FROM tallyman.scheduler_job j
  JOIN tallyman.scheduler_job_state s ON s.job_id = j.job_id WHERE j.job_key = p_key FOR NO KEY UPDATE OF s;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  fire_ms := (date_part('epoch', clock_timestamp()) * 1000)::bigint;
  LOOP
    INSERT INTO tallyman.scheduler_fire (job_id, fire_time, is_manual, run_id, outcome)
    VALUES (job.job_id, tallyman.scheduler_time(fire_ms), true, p_run_id, 'FIRED') ON CONFLICT DO NOTHING;
    EXIT WHEN FOUND;
    fire_ms := fire_ms + 1;
  END LOOP;
  UPDATE tallyman.scheduler_job_state s SET last_run_id = p_run_id WHERE s.job_id = job.job_id;
  PERFORM tallyman.scheduler_enqueue(ARRAY[job.job_id], ARRAY[fire_ms], ARRAY[p_run_id]);
  domain := job.domain;
  RETURN NEXT;
END $$;

-- Parks jobs whose fire failed: they keep their time, and wait with their error for somebody to look at them.
CREATE FUNCTION tallyman.scheduler_park_job(p_worker text, p_segment_ids integer[], p_epochs bigint[], p_job_id bigint,
  p_revision integer, p_expected bigint, p_error_code text, p_error_message text)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  held integer[];
BEGIN
  held := tallyman.scheduler_hold_segments(p_worker, p_segment_ids, p_epochs);
  UPDATE tallyman.scheduler_job_state s
  SET due_at = NULL, parked_at = clock_timestamp(), error_code = p_error_code, error_message = p_error_message
  WHERE s.job_id = p_job_id AND s.revision = p_revision AND s.next_fire_at = tallyman.scheduler_time(p_expected)
    AND s.due_at IS NOT NULL AND s.segment_id = ANY (held);
  RETURN FOUND;
END $$;
