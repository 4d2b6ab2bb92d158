-- The register of simulation runs: each has a schema of its own.
CREATE TABLE tallyman.simulation_run (
  run_id text PRIMARY KEY,
  schema_name text NOT NULL UNIQUE,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
