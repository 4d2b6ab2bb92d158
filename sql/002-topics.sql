-- Topics: an append-only log of messages, and one delivery row per consumer group and message that
-- the group has not acknowledged. An acknowledgement deletes the row.

CREATE TABLE tallyman.topic (
  topic_id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL UNIQUE,
  -- Full name of the protobuf message, e.g. tallyman.v1.BatchInfo.
  message_type text NOT NULL,
  -- How long acknowledged messages are kept; null: for ever.
  retention_ms int8 CHECK (retention_ms > 0),
  -- The topic whose dead letters this one holds.
  dead_letters_of int REFERENCES tallyman.topic,
  -- Raised by every change of the groups. Publishers hold the row FOR SHARE, so the change waits for
  -- them, and they for it.
  groups_version int NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE tallyman.topic_group (
  group_id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  topic_id int NOT NULL REFERENCES tallyman.topic,
  name text NOT NULL,
  is_paused boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  UNIQUE (topic_id, name)
);

CREATE TABLE tallyman.topic_message (
  topic_id int NOT NULL,
  message_id int8 GENERATED ALWAYS AS IDENTITY,
  -- Simulation run; empty for messages sent without one.
  run_id text NOT NULL,
  message_key text,
  payload bytea NOT NULL,
  published_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Dead letters only: the group that gave up, and the message it gave up.
  origin_group_id int,
  origin_message_id int8,
  PRIMARY KEY (topic_id, message_id)
);

CREATE UNIQUE INDEX topic_message_key ON tallyman.topic_message (topic_id, run_id, message_key)
  WHERE message_key IS NOT NULL;

CREATE INDEX topic_message_origin ON tallyman.topic_message (origin_message_id)
  WHERE origin_message_id IS NOT NULL;

-- No foreign keys: their checks would cost a look-up per row. Publishing and every change of the groups
-- exclude each other by the lock on the topic's row instead.
CREATE TABLE tallyman.topic_delivery (
  group_id int NOT NULL,
  message_id int8 NOT NULL,
  run_id text NOT NULL,
  state text NOT NULL DEFAULT 'ready' CHECK (state IN ('ready', 'claimed', 'delayed')),
  -- When a claim runs out or a delay ends; null while ready.
  visible_at timestamptz,
  deliveries int NOT NULL DEFAULT 0,
  -- Token of the latest claim, from a sequence: unique even when the row is made again by a seek.
  claim_version int8 NOT NULL DEFAULT 0,
  -- Who holds it; null unless claimed.
  owner text,
  last_error text,
  PRIMARY KEY (group_id, message_id),
  CHECK ((state = 'claimed') = (owner IS NOT NULL))
) WITH (
  fillfactor = 70,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.2,
  autovacuum_analyze_threshold = 10000,
  autovacuum_vacuum_cost_delay = 0
);

CREATE INDEX topic_delivery_ready ON tallyman.topic_delivery (group_id, run_id, message_id)
  WHERE state = 'ready';

CREATE INDEX topic_delivery_waiting ON tallyman.topic_delivery (group_id, run_id, visible_at)
  WHERE state <> 'ready';

CREATE SEQUENCE tallyman.topic_claim_version;
