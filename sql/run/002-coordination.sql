-- The manifest: every batch file of the run that was announced or found in storage.
CREATE TABLE sim.batch_files (
  batch_filename text PRIMARY KEY,
  storage_key text NOT NULL,
  tick_start bigint NOT NULL,
  tick_end bigint NOT NULL,
  -- Absent for a file that was found, not announced.
  bytes bigint,
  crc bigint,
  known_since timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Whether known_ranges covers it already.
  is_summarised boolean NOT NULL DEFAULT false,
  CONSTRAINT batch_files_range CHECK (tick_start >= 0 AND tick_end >= tick_start)
) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02);

CREATE INDEX batch_files_unsummarised ON sim.batch_files (batch_filename) WHERE NOT is_summarised;
CREATE INDEX batch_files_tick_start ON sim.batch_files (tick_start);

-- The union of the ranges of summarised files: half-open, disjoint, about one row per gap.
CREATE TABLE sim.known_ranges (
  range_start bigint PRIMARY KEY,
  range_end bigint NOT NULL,
  CONSTRAINT known_ranges_range CHECK (range_end > range_start)
);

-- The ledger: which instance of an indexer class claimed which file, and how far it came.
CREATE TABLE sim.coordinator_batches (
  indexer_class text NOT NULL,
  batch_filename text NOT NULL,
  tick_start bigint NOT NULL,
  tick_end bigint NOT NULL,
  status text NOT NULL,
  indexer_instance_id text,
  -- Rises with each claim; a holder with an older one is stale.
  claim_version bigint NOT NULL,
  lease_until timestamptz NOT NULL,
  -- Records of the file that are indexed.
  resume_at bigint NOT NULL DEFAULT 0,
  attempts int NOT NULL DEFAULT 1,
  claimed_at timestamptz NOT NULL,
  completed_at timestamptz,
  error_message text,
  PRIMARY KEY (indexer_class, batch_filename),
  CONSTRAINT check_status CHECK (status IN ('claimed', 'completed', 'failed')),
  CONSTRAINT coordinator_batches_range CHECK (tick_start >= 0 AND tick_end >= tick_start)
) WITH (fillfactor = 70);

CREATE INDEX idx_coordinator_batches_tick_end ON sim.coordinator_batches (indexer_class, tick_end);
CREATE INDEX idx_coordinator_batches_status ON sim.coordinator_batches (status) WHERE status <> 'completed';

-- Ranges of expected ticks that no known file covers; bounds are inclusive and on the sampling grid.
CREATE TABLE sim.coordinator_gaps (
  indexer_class text NOT NULL,
  gap_start_tick bigint NOT NULL,
  gap_end_tick bigint NOT NULL,
  first_detected timestamptz NOT NULL,
  status text NOT NULL,
  -- Recorded by a caller, not derived: kept until a known file covers it.
  is_manual boolean NOT NULL DEFAULT false,
  PRIMARY KEY (indexer_class, gap_start_tick),
  CONSTRAINT check_status CHECK (status IN ('pending', 'permanent')),
  CONSTRAINT coordinator_gaps_range CHECK (gap_start_tick >= 0 AND gap_end_tick >= gap_start_tick)
);

CREATE INDEX idx_coordinator_gaps_status ON sim.coordinator_gaps (status);
CREATE INDEX idx_coordinator_gaps_tick_range ON sim.coordinator_gaps (gap_start_tick, gap_end_tick);

-- Files that an indexer without a ledger has processed, so that redeliveries are not read again.
CREATE TABLE sim.processed_batches (
  indexer_class text NOT NULL,
  batch_id text NOT NULL,
  processed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (indexer_class, batch_id)
);
