-- Running services: what each process that runs some says about itself, and what others ask of it.

CREATE TABLE tallyman.service_manager (
  manager_id uuid PRIMARY KEY,
  -- How people call it, e.g. host-4711.
  name text NOT NULL,
  hostname text NOT NULL,
  pid int NOT NULL,
  started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  heartbeat_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Silence after which the process counts as lost.
  lost_after_ms int NOT NULL CHECK (lost_after_ms > 0)
);

CREATE TABLE tallyman.service (
  manager_id uuid NOT NULL REFERENCES tallyman.service_manager ON DELETE CASCADE,
  name text NOT NULL,
  class_name text NOT NULL,
  -- Place in the order of starting.
  position int NOT NULL,
  state text NOT NULL CHECK (state IN ('STOPPED', 'RUNNING', 'PAUSED', 'ERROR')),
  is_starting boolean NOT NULL,
  since timestamptz NOT NULL DEFAULT clock_timestamp(),
  restarts int NOT NULL,
  error_message text,
  PRIMARY KEY (manager_id, name)
);

-- An action that somebody asks of a service in another process. Kept as the record of who did what, after
-- its manager is gone too.
CREATE TABLE tallyman.service_request (
  request_id int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  manager_id uuid NOT NULL,
  service text NOT NULL,
  action text NOT NULL CHECK (action IN ('start', 'stop', 'pause', 'resume', 'restart')),
  requested_by text NOT NULL,
  requested_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  taken_at timestamptz,
  done_at timestamptz,
  -- The state that it led to, or why it was refused.
  state text,
  error_code text,
  error_message text
);

CREATE INDEX service_request_open ON tallyman.service_request (manager_id) WHERE taken_at IS NULL;
CREATE INDEX service_request_age ON tallyman.service_request (requested_at);
