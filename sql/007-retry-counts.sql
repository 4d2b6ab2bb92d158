-- How often a message has failed, over all consumers: who fails it once too often moves it to the dead letters.
CREATE TABLE tallyman.retry_count (
  message_id text PRIMARY KEY,
  retries int NOT NULL,
  last_retry_at timestamptz NOT NULL,
  moved_to_dlq_at timestamptz
);
