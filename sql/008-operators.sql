-- Who may use the HTTP API, and what operators did, by whatever entrance.

-- A token's secret is kept as its hash. A session is a token of its own, made of another one by a log-in; it ends
-- with the token that it was made of.
CREATE TABLE tallyman.access_token (
  token_id text PRIMARY KEY,
  name text NOT NULL,
  role text NOT NULL CHECK (role IN ('read', 'operate', 'admin')),
  can_view_payloads boolean NOT NULL,
  secret_hash bytea NOT NULL,
  session_of text REFERENCES tallyman.access_token ON DELETE CASCADE,
  created_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz,
  revoked_at timestamptz
);
CREATE INDEX idx_token_session ON tallyman.access_token (session_of) WHERE session_of IS NOT NULL;

-- One row per action, written by the transaction that did it.
CREATE TABLE tallyman.operator_action (
  action_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  actor text NOT NULL,
  action text NOT NULL,
  target jsonb NOT NULL,
  changed integer NOT NULL,
  reason text,
  request_id text NOT NULL
);

-- The answers to creating calls, so that a call sent twice creates once. Written by the creating transaction.
CREATE TABLE tallyman.idempotency_key (
  actor text NOT NULL,
  idempotency_key text NOT NULL,
  request_hash bytea NOT NULL,
  answer jsonb,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (actor, idempotency_key)
);
CREATE INDEX idx_idempotency_age ON tallyman.idempotency_key (created_at);

-- How many commands a group of the audit has, beside the list itself, which is stored apart and slow to read:
-- rates are summed from it.
ALTER TABLE tallyman.command_bus_audit_group
  ADD COLUMN command_count integer GENERATED ALWAYS AS (cardinality(command_rows)) STORED;
