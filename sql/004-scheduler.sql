-- The scheduler's coordination: who leads, who works, who owns which segment of the job store.
--
-- Times are milliseconds (timestamptz(3)): JavaScript's Date cuts microseconds, and a time that was read
-- must match when it comes back. No index on a heartbeat's time: the row is rewritten in place.

-- One row: how many segments the job store has.
CREATE TABLE tallyman.scheduler_settings (
  is_only_row boolean PRIMARY KEY DEFAULT true CHECK (is_only_row),
  segment_count int NOT NULL DEFAULT 100 CHECK (segment_count BETWEEN 1 AND 1024),
  -- Segments that come back after the number was lowered start here, so that no epoch is used twice.
  epoch_floor bigint NOT NULL DEFAULT 0
);

INSERT INTO tallyman.scheduler_settings DEFAULT VALUES;

-- The lease of the leader. Every write of a leader locks this row FOR SHARE on (holder, epoch).
CREATE TABLE tallyman.scheduler_leader_lease (
  name text PRIMARY KEY,
  -- Counts the terms; never goes back.
  epoch bigint NOT NULL DEFAULT 0,
  -- The boot id of the process that leads, or led last.
  holder uuid,
  coordinator_id text,
  -- Where followers forward to; written by the leader itself, not by whoever registers under its name.
  host text,
  port int,
  elected_at timestamptz(3),
  expires_at timestamptz(3) NOT NULL DEFAULT '-infinity'
);

INSERT INTO tallyman.scheduler_leader_lease (name) VALUES ('coordinator');

CREATE TABLE tallyman.scheduler_coordinator (
  coordinator_id text PRIMARY KEY,
  -- The process; null when it was registered over HTTP by somebody else.
  boot_id uuid,
  host text NOT NULL,
  port int NOT NULL CHECK (port BETWEEN 1 AND 65535),
  heartbeat_timeout_ms int NOT NULL CHECK (heartbeat_timeout_ms > 0),
  registered_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  last_heartbeat_time timestamptz(3) NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50);

CREATE TABLE tallyman.scheduler_worker (
  worker_id text PRIMARY KEY,
  -- The process; null when the worker identifies itself by its id alone (over HTTP), or has left.
  boot_id uuid,
  status text NOT NULL CHECK (status IN ('ONLINE', 'DRAINING', 'UNHEALTHY', 'OFFLINE')),
  -- Kept through a bad connection: a worker that is heard of again goes on draining.
  is_draining boolean NOT NULL DEFAULT false,
  -- Segments at most; null: no limit.
  cap int CHECK (cap >= 0),
  heartbeat_timeout_ms int NOT NULL CHECK (heartbeat_timeout_ms > 0),
  registered_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  last_heartbeat_time timestamptz(3) NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50);

CREATE TABLE tallyman.scheduler_segment (
  segment_id int PRIMARY KEY CHECK (segment_id >= 0),
  -- REVOKING: still its worker's, who is asked to give it back until revoke_deadline.
  status text NOT NULL DEFAULT 'AVAILABLE' CHECK (status IN ('AVAILABLE', 'ASSIGNED', 'REVOKING')),
  worker_id text,
  -- Raised by every change of owner, and when the worker's process is replaced.
  epoch bigint NOT NULL DEFAULT 0,
  -- The term of the leader that wrote the row last.
  leader_epoch bigint NOT NULL DEFAULT 0,
  assigned_at timestamptz(3),
  revoke_deadline timestamptz(3),
  CHECK ((status = 'AVAILABLE') = (worker_id IS NULL)),
  CHECK ((status = 'AVAILABLE') = (assigned_at IS NULL)),
  CHECK ((status = 'REVOKING') = (revoke_deadline IS NOT NULL))
) WITH (fillfactor = 50);

INSERT INTO tallyman.scheduler_segment (segment_id) SELECT generate_series(0, 99);

-- Takes every segment from a worker; its epochs are over. The caller holds the worker's row.
CREATE FUNCTION tallyman.scheduler_free_segments(p_worker_id text)
RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE
  freed int[];
BEGIN
  PERFORM FROM tallyman.scheduler_segment s WHERE s.worker_id = p_worker_id ORDER BY s.segment_id FOR NO KEY UPDATE;
  WITH s AS (
    UPDATE tallyman.scheduler_segment s
    SET status = 'AVAILABLE', worker_id = NULL, assigned_at = NULL, revoke_deadline = NULL, epoch = s.epoch + 1
    WHERE s.worker_id = p_worker_id RETURNING s.segment_id
  )
  SELECT coalesce(array_agg(s.segment_id ORDER BY s.segment_id), '{}') INTO freed FROM s;
  RETURN freed;
END $$;

-- Registers a worker. False: a process holds this id, and the caller does not say which process it is.
-- Another process under the same id takes the earlier one's place: the segments stay, their epochs do not,
-- so that the earlier process, should it still run, is refused.
CREATE FUNCTION tallyman.scheduler_register_worker(p_worker_id text, p_boot_id uuid, p_keeps_cap boolean, p_cap int,
  p_timeout_ms int)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  known record;
BEGIN
  LOOP
    INSERT INTO tallyman.scheduler_worker (worker_id, boot_id, status, cap, heartbeat_timeout_ms)
    VALUES (p_worker_id, p_boot_id, 'ONLINE', CASE WHEN p_keeps_cap THEN 0 ELSE p_cap END, p_timeout_ms)
    ON CONFLICT (worker_id) DO NOTHING;
    IF FOUND THEN RETURN true; END IF;
    SELECT w.boot_id, w.status INTO known FROM tallyman.scheduler_worker w WHERE w.worker_id = p_worker_id
    FOR NO KEY UPDATE;
    EXIT WHEN FOUND;
  END LOOP;
  IF p_boot_id IS NULL AND known.boot_id IS NOT NULL AND known.status <> 'OFFLINE' THEN RETURN false; END IF;
  UPDATE tallyman.scheduler_worker w
  SET boot_id = p_boot_id, status = 'ONLINE', is_draining = false, heartbeat_timeout_ms = p_timeout_ms,
      cap = CASE WHEN p_keeps_cap THEN w.cap ELSE p_cap END, last_heartbeat_time = clock_timestamp()
  WHERE w.worker_id = p_worker_id;
  IF known.boot_id IS DISTINCT FROM p_boot_id THEN
    PERFORM FROM tallyman.scheduler_segment s WHERE s.worker_id = p_worker_id ORDER BY s.segment_id FOR NO KEY UPDATE;
    UPDATE tallyman.scheduler_segment s
    SET epoch = s.epoch + 1, revoke_deadline = NULL,
        status = CASE WHEN s.status = 'REVOKING' THEN 'AVAILABLE' ELSE s.status END,
        worker_id = CASE WHEN s.status = 'REVOKING' THEN NULL ELSE s.worker_id END,
        assigned_at = CASE WHEN s.status = 'REVOKING' THEN NULL ELSE s.assigned_at END
    WHERE s.worker_id = p_worker_id;
  END IF;
  RETURN true;
END $$;

-- Takes a worker's segments back at its own wish or an operator's, and its cap, so that they don't come straight
-- back; a worker that leaves is also OFFLINE, and its process is forgotten: a late heartbeat changes nothing.
-- Null: there is no such worker, or another process has its place.
CREATE FUNCTION tallyman.scheduler_release_all(p_worker_id text, p_boot_id uuid, p_leaves boolean)
RETURNS int[] LANGUAGE plpgsql AS $$
BEGIN
  UPDATE tallyman.scheduler_worker w
  SET cap = 0, status = CASE WHEN p_leaves THEN 'OFFLINE' ELSE w.status END,
      is_draining = w.is_draining AND NOT p_leaves, boot_id = CASE WHEN p_leaves THEN NULL ELSE w.boot_id END
  WHERE w.worker_id = p_worker_id AND (p_boot_id IS NULL OR w.boot_id = p_boot_id);
  IF NOT FOUND THEN RETURN NULL; END IF;
  RETURN tallyman.scheduler_free_segments(p_worker_id);
END $$;

-- The leader answers a worker that asks for segments: its cap, and the lowest available ones at once. The lock on
-- the lease comes first: who holds it here leads, and nobody can be elected until this has committed.
CREATE FUNCTION tallyman.scheduler_assign(p_holder uuid, p_leader_epoch bigint, p_worker_id text, p_desired int,
  p_revoke_ms int)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  worker record;
  held int;
BEGIN
  PERFORM FROM tallyman.scheduler_leader_lease l
  WHERE l.name = 'coordinator' AND l.holder = p_holder AND l.epoch = p_leader_epoch FOR SHARE;
  IF NOT FOUND THEN RETURN 'NOT_LEADER'; END IF;
  SELECT w.cap, w.status INTO worker FROM tallyman.scheduler_worker w WHERE w.worker_id = p_worker_id
  FOR NO KEY UPDATE;
  IF NOT FOUND THEN RETURN 'UNKNOWN_WORKER'; END IF;
  IF worker.status <> 'ONLINE' THEN RETURN worker.status; END IF;
  IF worker.cap = p_desired THEN RETURN 'UNCHANGED'; END IF;
  UPDATE tallyman.scheduler_worker w SET cap = p_desired WHERE w.worker_id = p_worker_id;
  SELECT count(*) INTO held FROM tallyman.scheduler_segment s WHERE s.worker_id = p_worker_id;
  UPDATE tallyman.scheduler_segment s
  SET status = 'ASSIGNED', worker_id = p_worker_id, assigned_at = clock_timestamp(), epoch = s.epoch + 1,
      leader_epoch = p_leader_epoch
  WHERE s.segment_id = ANY (ARRAY(
    SELECT a.segment_id FROM tallyman.scheduler_segment a WHERE a.status = 'AVAILABLE'
    ORDER BY a.segment_id LIMIT greatest(0, p_desired - held) FOR NO KEY UPDATE SKIP LOCKED));
  UPDATE tallyman.scheduler_segment s
  SET status = 'REVOKING', revoke_deadline = clock_timestamp() + p_revoke_ms * interval '1 millisecond',
      leader_epoch = p_leader_epoch
  WHERE s.segment_id = ANY (ARRAY(
    SELECT a.segment_id FROM tallyman.scheduler_segment a WHERE a.worker_id = p_worker_id AND a.status = 'ASSIGNED'
    ORDER BY a.segment_id OFFSET p_desired FOR NO KEY UPDATE));
  RETURN 'CHANGED';
END $$;
