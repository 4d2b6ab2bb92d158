-- Workers don't wait for jobs: one that a client holds in an open transaction stays due, and is tried again
-- with the next turn, while all others fire.

-- Fires jobs, in one statement and therefore in one transaction that no stalled client can hold open:
-- locks the worker's segments on (owner, epoch), then each job that still is where the worker saw it, advances
-- those, records the fires, and enqueues their commands. Whatever is not ours any more, was changed meanwhile, or
-- is held by somebody is left alone. Each lock is taken in a statement before those that read what it guards:
-- a run by hand that committed a moment ago counts as an overlap.
--
-- Times are milliseconds. p_fired: the time to fire, null when the times from p_expected until p_next were
-- all missed; where it is later than p_expected, the times in between were missed.
CREATE OR REPLACE FUNCTION tallyman.scheduler_fire_jobs(p_worker text, p_segment_ids integer[], p_epochs bigint[], p_job_ids bigint[],
  p_revisions integer[], p_expected bigint[], p_fired bigint[], p_next bigint[], p_due bigint[], p_missed_until bigint[],
  p_avoids_overlap boolean[], p_run_ids uuid[])
RETURNS TABLE (advanced integer, fired integer, missed integer, overlapped integer, domains text[], lost_segments integer[])
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  held integer[];
  locked bigint[];
  job_ids bigint[];
  fire_times bigint[];
  run_ids uuid[];
BEGIN
  held := tallyman.scheduler_hold_segments(p_worker, p_segment_ids, p_epochs);
  locked := ARRAY (
    SELECT s.job_id
    FROM unnest(p_job_ids, p_revisions, p_expected) WITH ORDINALITY AS d (job_id, revision, expected_ms, place)
    LEFT JOIN LATERAL (
      SELECT s.job_id FROM tallyman.scheduler_job_state s
      WHERE s.job_id = d.job_id AND s.revision = d.revision AND s.next_fire_at = tallyman.scheduler_time(d.expected_ms)
        AND s.due_at IS NOT NULL AND s.segment_id = ANY (held)
      FOR NO KEY UPDATE SKIP LOCKED) s ON true
    ORDER BY d.place);
  WITH d AS MATERIALIZED (
    SELECT d.*, d.fired_ms IS NOT NULL AND NOT (d.avoids_overlap AND EXISTS (
             SELECT FROM tallyman.scheduler_job_state s JOIN tallyman.scheduler_job j ON j.job_id = s.job_id
             WHERE s.job_id = d.job_id AND tallyman.scheduler_is_running(j.target, j.domain, s.last_run_id))) AS is_firing
    FROM unnest(locked, p_expected, p_fired, p_next, p_due, p_missed_until, p_avoids_overlap, p_run_ids)
         AS d (job_id, expected_ms, fired_ms, next_ms, due_ms, missed_until_ms, avoids_overlap, run_id)
    WHERE d.job_id IS NOT NULL
  ), u AS (
    UPDATE tallyman.scheduler_job_state s
    SET next_fire_at = CASE WHEN d.is_firing AND s.fires_left = 1 THEN NULL ELSE tallyman.scheduler_time(d.next_ms) END,
        due_at = CASE WHEN d.is_firing AND s.fires_left = 1 THEN NULL ELSE tallyman.scheduler_time(d.due_ms) END,
        fires_left = CASE WHEN d.is_firing THEN s.fires_left - 1 ELSE s.fires_left END,
        fire_count = CASE WHEN d.is_firing THEN s.fire_count + 1 ELSE s.fire_count END,
        last_fire_at = coalesce(tallyman.scheduler_time(d.fired_ms), s.last_fire_at),
        last_run_id = CASE WHEN d.is_firing THEN d.run_id ELSE s.last_run_id END
    FROM d WHERE s.job_id = d.job_id
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

-- Parks a job whose fire failed: it keeps its time, and waits with its error for somebody to look at it. False:
-- it was changed meanwhile, or somebody holds it.
CREATE OR REPLACE FUNCTION tallyman.scheduler_park_job(p_worker text, p_segment_ids integer[], p_epochs bigint[], p_job_id bigint,
  p_revision integer, p_expected bigint, p_error_code text, p_error_message text)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  held integer[];
BEGIN
  held := tallyman.scheduler_hold_segments(p_worker, p_segment_ids, p_epochs);
  PERFORM FROM tallyman.scheduler_job_state s
  WHERE s.job_id = p_job_id AND s.revision = p_revision AND s.next_fire_at = tallyman.scheduler_time(p_expected)
    AND s.due_at IS NOT NULL AND s.segment_id = ANY (held)
  FOR NO KEY UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  UPDATE tallyman.scheduler_job_state s
  SET due_at = NULL, parked_at = clock_timestamp(), error_code = p_error_code, error_message = p_error_message
  WHERE s.job_id = p_job_id;
  RETURN true;
END $$;
