-- Command bus: commands, the batches that group them, what happened to each, and the replies.
--
-- A command's two frequent changes are its claim and its end. The claim takes it out of the one index
-- that claims read (is_ready); its end touches no indexed column, so PostgreSQL can keep the new
-- version on the same page (HOT) and write no index at all. Hence is_ready, run_at and
-- troubleshooting_at, which each stand in a partial index, instead of one index over status.
CREATE TABLE tallyman.command_bus_batch (
  batch_id uuid PRIMARY KEY,
  domain varchar(255) NOT NULL,
  name varchar(255),
  custom_data jsonb,
  status varchar(50) NOT NULL DEFAULT 'PENDING',
  total_count integer NOT NULL DEFAULT 0,
  completed_count integer NOT NULL DEFAULT 0,
  failed_count integer NOT NULL DEFAULT 0,
  canceled_count integer NOT NULL DEFAULT 0,
  in_troubleshooting_count integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  started_at timestamptz,
  completed_at timestamptz,
  -- An open batch (not sealed) takes more commands and does not complete.
  is_sealed boolean NOT NULL DEFAULT true,
  priority integer NOT NULL DEFAULT 0,
  expires_at timestamptz,
  canceled_at timestamptz,
  canceled_by varchar(255),
  -- The command that the completing transaction enqueues.
  completion jsonb,
  -- Set when retention began to delete the batch's commands: from then on a recount proves nothing.
  pruned_at timestamptz,
  CONSTRAINT valid_status CHECK (status IN ('PENDING', 'IN_PROGRESS', 'COMPLETED', 'COMPLETED_WITH_FAILURES'))
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX idx_batch_domain ON tallyman.command_bus_batch (domain);
CREATE INDEX idx_batch_status ON tallyman.command_bus_batch (status);
CREATE INDEX idx_batch_created_at ON tallyman.command_bus_batch (created_at DESC);

CREATE TABLE tallyman.command_bus_command (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  command_id uuid NOT NULL,
  batch_id uuid REFERENCES tallyman.command_bus_batch (batch_id),
  correlation_id uuid NOT NULL,
  lease_token bigint,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Present only while the command waits for it.
  run_at timestamptz,
  finished_at timestamptz,
  -- Present only while the command is in the troubleshooting queue.
  troubleshooting_at timestamptz,
  priority integer NOT NULL DEFAULT 0,
  attempts integer NOT NULL DEFAULT 0,
  lost_leases integer NOT NULL DEFAULT 0,
  max_attempts integer,
  -- True exactly while a worker may claim it.
  is_ready boolean NOT NULL,
  domain varchar(255) NOT NULL,
  command_type varchar(255) NOT NULL,
  status varchar(50) NOT NULL DEFAULT 'PENDING',
  reply_to varchar(255),
  data jsonb NOT NULL,
  result jsonb,
  error_code varchar(255),
  error_message text,
  error_signature varchar(255),
  CONSTRAINT command_bus_command_command_id_key UNIQUE (domain, command_id),
  CONSTRAINT valid_status CHECK (status IN
    ('PENDING', 'IN_PROGRESS', 'COMPLETED', 'FAILED', 'CANCELED', 'IN_TROUBLESHOOTING_QUEUE'))
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX idx_command_batch_id ON tallyman.command_bus_command (batch_id, id);
CREATE INDEX idx_command_ready ON tallyman.command_bus_command (domain, priority DESC, id) WHERE is_ready;
CREATE INDEX idx_command_run_at ON tallyman.command_bus_command (domain, run_at) WHERE run_at IS NOT NULL;
CREATE INDEX idx_command_troubleshooting ON tallyman.command_bus_command (domain, error_signature, id)
  WHERE troubleshooting_at IS NOT NULL;

-- One row per claim, not per command: renewing a lease is one small update however many commands it
-- covers. A command belongs to the lease whose token it carries.
CREATE SEQUENCE tallyman.command_bus_lease_token;
CREATE TABLE tallyman.command_bus_lease (
  lease_token bigint PRIMARY KEY,
  domain varchar(255) NOT NULL,
  worker varchar(255) NOT NULL,
  lease_until timestamptz NOT NULL,
  command_ids bigint[] NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- The command's own row number leads the key, so that one index serves as primary key and finds a
-- command's history, and its inserts stay near its right edge; 0 is an event of the batch itself.
-- Rows lie in the order of time, which a block range index is enough for.
CREATE TABLE tallyman.command_bus_audit (
  audit_id bigint GENERATED ALWAYS AS IDENTITY,
  command_row bigint NOT NULL DEFAULT 0,
  command_id uuid,
  batch_id uuid,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  domain varchar(255) NOT NULL,
  event_type varchar(50) NOT NULL,
  details jsonb,
  PRIMARY KEY (command_row, audit_id)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.2);

CREATE INDEX idx_audit_time ON tallyman.command_bus_audit USING brin (audit_id, created_at) WITH (pages_per_range = 32);
CREATE INDEX idx_audit_batch ON tallyman.command_bus_audit (batch_id) WHERE command_row = 0;

CREATE TABLE tallyman.command_bus_reply (
  reply_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  reply_queue varchar(255) NOT NULL,
  domain varchar(255) NOT NULL,
  command_id uuid NOT NULL,
  command_type varchar(255) NOT NULL,
  correlation_id uuid NOT NULL,
  batch_id uuid,
  outcome varchar(50) NOT NULL,
  result jsonb,
  error_code varchar(255),
  error_message text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Hidden from other readers until then; the count of deliveries fences a late acknowledgement.
  visible_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  delivery_count integer NOT NULL DEFAULT 0
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);

CREATE INDEX idx_reply_queue ON tallyman.command_bus_reply (reply_queue, reply_id);

CREATE TABLE tallyman.command_bus_domain (
  domain varchar(255) PRIMARY KEY,
  paused_at timestamptz,
  paused_by varchar(255)
);

-- Stores the commands of one call, all or none. p_batch_id: adds them to a batch that must be open,
-- or was made in this same transaction (p_is_new).
CREATE FUNCTION tallyman.command_bus_enqueue(p_domain text, p_batch_id uuid, p_is_new boolean, p_commands jsonb)
RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  stored integer;
  batch record;
BEGIN
  WITH c AS (
    INSERT INTO tallyman.command_bus_command AS c (domain, command_id, command_type, batch_id, correlation_id,
      reply_to, priority, max_attempts, run_at, is_ready, data)
    SELECT p_domain, x.command_id, x.command_type, p_batch_id, coalesce(x.correlation_id, x.command_id),
           x.reply_to, coalesce(x.priority, 0), x.max_attempts, x.run_at, x.run_at IS NULL, x.data
    FROM jsonb_to_recordset(p_commands) AS x (command_id uuid, command_type text, correlation_id uuid,
         reply_to text, priority integer, max_attempts integer, run_at timestamptz, data jsonb)
    RETURNING c.id, c.command_id
  ), a AS (
    INSERT INTO tallyman.command_bus_audit (domain, command_row, command_id, batch_id, event_type)
    SELECT p_domain, c.id, c.command_id, p_batch_id, 'SENT' FROM c
  )
  SELECT count(*) INTO stored FROM c;
  IF p_batch_id IS NULL OR p_is_new THEN
    RETURN stored;
  END IF;
  UPDATE tallyman.command_bus_batch SET total_count = total_count + stored
  WHERE batch_id = p_batch_id AND domain = p_domain AND NOT is_sealed;
  IF NOT FOUND THEN
    SELECT * INTO batch FROM tallyman.command_bus_batch WHERE batch_id = p_batch_id AND domain = p_domain;
    IF batch IS NULL THEN
      RAISE foreign_key_violation USING MESSAGE = format('batch %s is not in domain %s', p_batch_id, p_domain);
    END IF;
    RAISE EXCEPTION USING ERRCODE = 'TMSEA', MESSAGE = format('batch %s is sealed', p_batch_id);
  END IF;
  RETURN stored;
END $$;

-- Moves batch counters by what a transaction did to their commands, and completes a batch whose
-- commands have all ended. Call it last in the transaction: the batch row is the one that everybody
-- wants, and its lock lasts until COMMIT. Rows are locked in the order of their ids, in a statement
-- before the one that reads them.
CREATE FUNCTION tallyman.command_bus_count(p_batch_ids uuid[], p_completed integer[], p_failed integer[],
  p_canceled integer[], p_troubleshooting integer[])
RETURNS uuid[] LANGUAGE plpgsql SET enable_hashjoin = on AS $$
DECLARE
  done uuid[];
BEGIN
  PERFORM FROM tallyman.command_bus_batch b WHERE b.batch_id = ANY (p_batch_ids)
  ORDER BY b.batch_id FOR NO KEY UPDATE;
  WITH b AS (
    UPDATE tallyman.command_bus_batch b
    SET completed_count = b.completed_count + d.completed,
        failed_count = b.failed_count + d.failed,
        canceled_count = b.canceled_count + d.canceled,
        in_troubleshooting_count = b.in_troubleshooting_count + d.troubleshooting,
        status = CASE WHEN NOT d.is_last THEN b.status WHEN d.has_failures THEN 'COMPLETED_WITH_FAILURES' ELSE 'COMPLETED' END,
        completed_at = CASE WHEN d.is_last THEN clock_timestamp() ELSE b.completed_at END
    FROM (
      SELECT x.*,
             o.completed_at IS NULL AND o.is_sealed
               AND o.completed_count + o.failed_count + o.canceled_count + x.completed + x.failed + x.canceled = o.total_count
               AS is_last,
             o.failed_count + o.canceled_count + x.failed + x.canceled > 0 AS has_failures
      FROM unnest(p_batch_ids, p_completed, p_failed, p_canceled, p_troubleshooting)
           AS x (batch_id, completed, failed, canceled, troubleshooting)
      JOIN tallyman.command_bus_batch o USING (batch_id)
      WHERE o.batch_id = ANY (p_batch_ids)
    ) d
    WHERE b.batch_id = d.batch_id AND b.batch_id = ANY (p_batch_ids)
    RETURNING b.*, d.is_last
  ), a AS (
    INSERT INTO tallyman.command_bus_audit (domain, batch_id, event_type, details)
    SELECT b.domain, b.batch_id, 'BATCH_COMPLETED', jsonb_build_object('status', b.status)
    FROM b WHERE b.is_last
  ), c AS (
    INSERT INTO tallyman.command_bus_command AS c (domain, command_id, command_type, correlation_id, reply_to, priority,
      max_attempts, is_ready, data)
    SELECT b.completion ->> 'domain', (b.completion ->> 'command_id')::uuid, b.completion ->> 'command_type',
           coalesce((b.completion ->> 'correlation_id')::uuid, b.batch_id), b.completion ->> 'reply_to',
           coalesce((b.completion ->> 'priority')::integer, 0), (b.completion ->> 'max_attempts')::integer, true,
           coalesce(b.completion -> 'data', '{}') || jsonb_build_object('batch', jsonb_build_object(
             'batchId', b.batch_id, 'domain', b.domain, 'name', b.name, 'status', b.status, 'totalCount', b.total_count,
             'completedCount', b.completed_count, 'failedCount', b.failed_count, 'canceledCount', b.canceled_count))
    FROM b WHERE b.is_last AND b.completion IS NOT NULL
    RETURNING c.id, c.domain, c.command_id
  ), s AS (
    INSERT INTO tallyman.command_bus_audit (domain, command_row, command_id, event_type)
    SELECT c.domain, c.id, c.command_id, 'SENT' FROM c
  )
  SELECT array_agg(b.batch_id) INTO done FROM b WHERE b.is_last;
  RETURN coalesce(done, '{}');
END $$;

-- Hands the most urgent, oldest ready commands of a domain to a worker, under one lease.
-- The settings keep the planner on idx_command_ready whatever it believes about a table that is
-- empty one moment and full the next.
CREATE FUNCTION tallyman.command_bus_claim(p_domain text, p_limit integer, p_lease_ms double precision, p_worker text,
  p_ended_leases bigint[])
RETURNS TABLE (lease_token bigint, id bigint, command_id uuid, command_type text, batch_id uuid, correlation_id uuid,
  reply_to text, priority integer, attempts integer, max_attempts integer, lost_leases integer, created_at timestamptz, data jsonb)
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_sort = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  token bigint;
BEGIN
  IF cardinality(p_ended_leases) > 0 THEN
    DELETE FROM tallyman.command_bus_lease l WHERE l.lease_token = ANY (p_ended_leases);
  END IF;
  IF EXISTS (SELECT FROM tallyman.command_bus_domain d WHERE d.domain = p_domain AND d.paused_at IS NOT NULL) THEN
    RETURN;
  END IF;
  IF EXISTS (SELECT FROM tallyman.command_bus_command c
             WHERE c.domain = p_domain AND c.run_at IS NOT NULL AND c.run_at <= clock_timestamp()) THEN
    UPDATE tallyman.command_bus_command c SET run_at = NULL, is_ready = true
    WHERE c.id = ANY (ARRAY (
      SELECT d.id FROM tallyman.command_bus_command d
      WHERE d.domain = p_domain AND d.run_at IS NOT NULL AND d.run_at <= clock_timestamp()
      ORDER BY d.run_at LIMIT p_limit FOR UPDATE SKIP LOCKED));
  END IF;
  token := nextval('tallyman.command_bus_lease_token');
  RETURN QUERY
  WITH ready AS MATERIALIZED (
    SELECT c.ctid FROM tallyman.command_bus_command c WHERE c.domain = p_domain AND c.is_ready
    ORDER BY c.priority DESC, c.id LIMIT p_limit FOR UPDATE SKIP LOCKED
  ), claimed AS (
    UPDATE tallyman.command_bus_command c SET status = 'IN_PROGRESS', is_ready = false, lease_token = token
    WHERE c.ctid = ANY (ARRAY (SELECT ready.ctid FROM ready))
    RETURNING c.*
  ), lease AS (
    INSERT INTO tallyman.command_bus_lease (lease_token, domain, worker, lease_until, command_ids)
    SELECT token, p_domain, p_worker, clock_timestamp() + p_lease_ms * interval '1 millisecond', ids
    FROM (SELECT array_agg(claimed.id) AS ids FROM claimed) AS list WHERE ids IS NOT NULL
  ), received AS (
    INSERT INTO tallyman.command_bus_audit (domain, command_row, command_id, batch_id, event_type)
    SELECT p_domain, claimed.id, claimed.command_id, claimed.batch_id, 'RECEIVED' FROM claimed
  ), starting AS MATERIALIZED (
    SELECT b.batch_id FROM tallyman.command_bus_batch b
    WHERE b.batch_id = ANY (ARRAY (SELECT DISTINCT claimed.batch_id FROM claimed)) AND b.status = 'PENDING'
    ORDER BY b.batch_id FOR NO KEY UPDATE OF b
  ), started AS (
    UPDATE tallyman.command_bus_batch b SET status = 'IN_PROGRESS', started_at = clock_timestamp()
    FROM starting WHERE b.batch_id = starting.batch_id
    RETURNING b.batch_id
  ), begun AS (
    INSERT INTO tallyman.command_bus_audit (domain, batch_id, event_type)
    SELECT p_domain, started.batch_id, 'BATCH_STARTED' FROM started
  )
  SELECT token, c.id, c.command_id, c.command_type::text, c.batch_id, c.correlation_id, c.reply_to::text, c.priority,
         c.attempts, c.max_attempts, c.lost_leases, c.created_at, c.data
  FROM claimed c;
END $$;

-- Brings commands from one state to the next: the end of an attempt, a lost lease, an operator's or a
-- batch's cancellation. Each command changes only if it still is in the state p_from and, where a token
-- is given, under that lease; the others are left alone and missing from `settled`.
--
-- Outcomes: COMPLETED, FAILED, CANCELED, IN_TROUBLESHOOTING_QUEUE; RETRY (after p_delays_ms), RELEASED
-- (never begun), LOST (with its worker), REQUEUED (by an operator). In a cancelled batch whatever would
-- leave the command unfinished cancels it.
CREATE FUNCTION tallyman.command_bus_settle(p_ids bigint[], p_from text[], p_tokens bigint[], p_outcomes text[],
  p_events text[], p_started integer[], p_delays_ms double precision[], p_results jsonb[], p_error_codes text[],
  p_error_messages text[], p_error_signatures text[], p_details jsonb)
RETURNS TABLE (settled bigint[], completed_batches uuid[]) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  ids bigint[];
  batch_ids uuid[];
  completed integer[];
  failed integer[];
  canceled integer[];
  troubleshooting integer[];
  done uuid[] := '{}';
BEGIN
  IF NOT p_outcomes <@ ARRAY['COMPLETED', 'FAILED', 'CANCELED'] THEN
    SELECT array_agg(CASE WHEN canceling THEN 'CANCELED' ELSE outcome END ORDER BY position),
           array_agg(CASE WHEN canceling THEN 'CANCELED' ELSE event END ORDER BY position)
    INTO p_outcomes, p_events
    FROM (
      SELECT d.*, d.outcome NOT IN ('COMPLETED', 'FAILED', 'CANCELED') AND b.canceled_at IS NOT NULL AS canceling
      FROM unnest(p_ids, p_outcomes, p_events) WITH ORDINALITY AS d (id, outcome, event, position)
      LEFT JOIN tallyman.command_bus_command c ON c.id = d.id
      LEFT JOIN tallyman.command_bus_batch b ON b.batch_id = c.batch_id
    ) AS adjusted;
  END IF;
  WITH c AS (
    UPDATE tallyman.command_bus_command c
    SET status = CASE WHEN d.outcome IN ('RETRY', 'RELEASED', 'LOST', 'REQUEUED') THEN 'PENDING' ELSE d.outcome END,
        is_ready = d.outcome IN ('RELEASED', 'LOST', 'REQUEUED'),
        run_at = CASE WHEN d.outcome = 'RETRY' THEN clock_timestamp() + d.delay_ms * interval '1 millisecond' END,
        finished_at = CASE WHEN d.outcome IN ('COMPLETED', 'FAILED', 'CANCELED') THEN clock_timestamp() END,
        troubleshooting_at = CASE WHEN d.outcome = 'IN_TROUBLESHOOTING_QUEUE' THEN clock_timestamp() END,
        attempts = CASE WHEN d.outcome = 'REQUEUED' THEN 0 ELSE c.attempts + d.started END,
        lost_leases = CASE WHEN d.outcome = 'REQUEUED' THEN 0
                           WHEN d.outcome = 'LOST' OR d.error_code = 'WORKER_LOST' THEN c.lost_leases + 1
                           ELSE c.lost_leases END,
        result = d.result,
        error_code = coalesce(d.error_code, CASE WHEN d.outcome <> 'COMPLETED' THEN c.error_code END),
        error_message = coalesce(d.error_message, CASE WHEN d.outcome <> 'COMPLETED' THEN c.error_message END),
        error_signature = coalesce(d.error_signature, c.error_signature)
    FROM unnest(p_ids, p_from, p_tokens, p_outcomes, p_events, p_started, p_delays_ms, p_results, p_error_codes,
                p_error_messages, p_error_signatures)
         AS d (id, from_status, token, outcome, event, started, delay_ms, result, error_code, error_message, error_signature)
    WHERE c.id = d.id AND c.status = d.from_status AND (d.token IS NULL OR c.lease_token = d.token)
    RETURNING c.*, d.outcome, d.event, d.delay_ms, d.from_status
  ), a AS (
    INSERT INTO tallyman.command_bus_audit (domain, command_row, command_id, batch_id, event_type, details)
    SELECT c.domain, c.id, c.command_id, c.batch_id, c.event,
           CASE WHEN c.outcome = 'COMPLETED' THEN p_details
                ELSE coalesce(p_details, '{}') || jsonb_strip_nulls(jsonb_build_object('attempts', c.attempts,
                  'lostLeases', nullif(c.lost_leases, 0), 'delayMs', c.delay_ms, 'errorCode', c.error_code,
                  'error', c.error_message)) END
    FROM c WHERE c.event IS NOT NULL
  ), r AS (
    INSERT INTO tallyman.command_bus_reply (reply_queue, domain, command_id, command_type, correlation_id, batch_id,
      outcome, result, error_code, error_message)
    SELECT c.reply_to, c.domain, c.command_id, c.command_type, c.correlation_id, c.batch_id, c.status, c.result,
           c.error_code, c.error_message
    FROM c WHERE c.reply_to IS NOT NULL AND c.finished_at IS NOT NULL
  ), b AS (
    SELECT c.batch_id,
           (count(*) FILTER (WHERE c.status = 'COMPLETED'))::integer AS completed,
           (count(*) FILTER (WHERE c.status = 'FAILED'))::integer AS failed,
           (count(*) FILTER (WHERE c.status = 'CANCELED'))::integer AS canceled,
           (count(*) FILTER (WHERE c.status = 'IN_TROUBLESHOOTING_QUEUE')
             - count(*) FILTER (WHERE c.from_status = 'IN_TROUBLESHOOTING_QUEUE'))::integer AS troubleshooting
    FROM c WHERE c.batch_id IS NOT NULL GROUP BY c.batch_id
  )
  SELECT (SELECT array_agg(c.id) FROM c), array_agg(b.batch_id), array_agg(b.completed), array_agg(b.failed),
         array_agg(b.canceled), array_agg(b.troubleshooting)
  INTO ids, batch_ids, completed, failed, canceled, troubleshooting
  FROM b WHERE b.completed <> 0 OR b.failed <> 0 OR b.canceled <> 0 OR b.troubleshooting <> 0;
  IF batch_ids IS NOT NULL THEN
    done := tallyman.command_bus_count(batch_ids, completed, failed, canceled, troubleshooting);
  END IF;
  RETURN QUERY SELECT coalesce(ids, '{}'), done;
END $$;

-- Takes back the commands of leases that ran out. A command that its worker has locked (it is inside
-- its own transaction) is left to it, and its lease is looked at again.
CREATE FUNCTION tallyman.command_bus_reclaim(p_leases_max integer, p_lost_leases_max integer)
RETURNS TABLE (reclaimed integer, completed_batches uuid[]) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  tokens bigint[];
  ids bigint[];
  lost bigint[];
  given_up boolean[];
  result record;
BEGIN
  SELECT array_agg(e.lease_token) INTO tokens FROM (
    SELECT l.lease_token FROM tallyman.command_bus_lease l WHERE l.lease_until < clock_timestamp()
    ORDER BY l.lease_token LIMIT p_leases_max FOR UPDATE SKIP LOCKED) e;
  IF tokens IS NULL THEN
    RETURN;
  END IF;
  reclaimed := 0;
  completed_batches := '{}';
  SELECT array_agg(e.id), array_agg(e.lease_token), array_agg(e.lost_leases + 1 >= p_lost_leases_max)
  INTO ids, lost, given_up FROM (
    SELECT c.id, c.lease_token, c.lost_leases FROM tallyman.command_bus_command c
    WHERE c.id IN (SELECT unnest(l.command_ids) FROM tallyman.command_bus_lease l WHERE l.lease_token = ANY (tokens))
      AND c.status = 'IN_PROGRESS' AND c.lease_token = ANY (tokens)
    ORDER BY c.id FOR UPDATE SKIP LOCKED) e;
  IF ids IS NOT NULL THEN
    SELECT s.* INTO result FROM tallyman.command_bus_settle(ids,
      array_fill('IN_PROGRESS'::text, ARRAY[cardinality(ids)]), lost,
      ARRAY(SELECT CASE WHEN g THEN 'IN_TROUBLESHOOTING_QUEUE' ELSE 'LOST' END FROM unnest(given_up) g),
      ARRAY(SELECT CASE WHEN g THEN 'MOVED_TO_TSQ' ELSE 'LEASE_LOST' END FROM unnest(given_up) g),
      array_fill(0, ARRAY[cardinality(ids)]), NULL, NULL,
      ARRAY(SELECT CASE WHEN g THEN 'WORKER_LOST' END FROM unnest(given_up) g),
      ARRAY(SELECT CASE WHEN g THEN format('The worker was lost %s times while it held this command.', p_lost_leases_max) END
            FROM unnest(given_up) g),
      ARRAY(SELECT CASE WHEN g THEN 'WORKER_LOST' END FROM unnest(given_up) g), NULL) s;
    reclaimed := cardinality(result.settled);
    completed_batches := result.completed_batches;
  END IF;
  DELETE FROM tallyman.command_bus_lease l WHERE l.lease_token = ANY (tokens) AND NOT EXISTS (
    SELECT FROM tallyman.command_bus_command c
    WHERE c.id = ANY (l.command_ids) AND c.status = 'IN_PROGRESS' AND c.lease_token = l.lease_token);
  RETURN NEXT;
END $$;

-- Cancels commands of a batch that nobody has begun, the next p_limit of them after p_after.
CREATE FUNCTION tallyman.command_bus_cancel(p_batch_id uuid, p_after bigint, p_limit integer, p_event text, p_details jsonb)
RETURNS TABLE (canceled integer, last_id bigint, completed_batches uuid[]) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  ids bigint[];
  states text[];
  result record;
BEGIN
  SELECT array_agg(c.id), array_agg(c.status::text) INTO ids, states FROM (
    SELECT c.id, c.status FROM tallyman.command_bus_command c
    WHERE c.batch_id = p_batch_id AND c.id > p_after AND c.status IN ('PENDING', 'IN_TROUBLESHOOTING_QUEUE')
    ORDER BY c.id LIMIT p_limit FOR UPDATE) c;
  IF ids IS NULL THEN
    RETURN;
  END IF;
  SELECT * INTO result FROM tallyman.command_bus_settle(ids, states, NULL,
    array_fill('CANCELED'::text, ARRAY[cardinality(ids)]), array_fill(p_event, ARRAY[cardinality(ids)]),
    array_fill(0, ARRAY[cardinality(ids)]), NULL, NULL, NULL, NULL, NULL, p_details);
  RETURN QUERY SELECT cardinality(result.settled), ids[cardinality(ids)], result.completed_batches;
END $$;

-- The work that any worker may do for all, one at a time: takes back lost leases, marks expired batches
-- as cancelled, and names the batches whose cancellation is still to be carried out.
CREATE FUNCTION tallyman.command_bus_maintain(p_leases_max integer, p_lost_leases_max integer, p_batches_max integer)
RETURNS TABLE (reclaimed integer, completed_batches uuid[], canceled_batches uuid[]) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  result record;
  canceling uuid[];
BEGIN
  IF NOT pg_try_advisory_xact_lock(hashtextextended('tallyman.command_bus_maintain', 0)) THEN
    RETURN;
  END IF;
  SELECT * INTO result FROM tallyman.command_bus_reclaim(p_leases_max, p_lost_leases_max);
  UPDATE tallyman.command_bus_batch b SET canceled_at = clock_timestamp(), canceled_by = 'expiry', is_sealed = true
  WHERE b.batch_id = ANY (ARRAY (
    SELECT e.batch_id FROM tallyman.command_bus_batch e
    WHERE e.status IN ('PENDING', 'IN_PROGRESS') AND e.expires_at <= clock_timestamp() AND e.canceled_at IS NULL
    ORDER BY e.batch_id LIMIT p_batches_max FOR NO KEY UPDATE SKIP LOCKED));
  SELECT array_agg(b.batch_id) INTO canceling FROM tallyman.command_bus_batch b
  WHERE b.status IN ('PENDING', 'IN_PROGRESS') AND b.canceled_at IS NOT NULL;
  RETURN QUERY SELECT coalesce(result.reclaimed, 0), coalesce(result.completed_batches, '{}'), coalesce(canceling, '{}');
END $$;
