-- What the producer said about the run, as key and JSON value.
CREATE TABLE sim.metadata (
  key text PRIMARY KEY,
  value jsonb NOT NULL
);
