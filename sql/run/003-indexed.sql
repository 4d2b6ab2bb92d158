-- What indexers make of the run's ticks. Rows are written once and rarely touched again; columns stand
-- in the order of their alignment, so that no row has padding (docs/decisions/012-indexed-tables.md).

-- EnvironmentIndexer: the cells that were not empty.
CREATE TABLE sim.environment_data (
  tick_number bigint NOT NULL,
  cell_id bigint NOT NULL,
  -- The organism that owns the cell; null for none.
  owner bigint,
  x int NOT NULL,
  y int NOT NULL,
  value int NOT NULL,
  state int NOT NULL,
  PRIMARY KEY (tick_number, cell_id) WITH (fillfactor = 100)
);

-- OrganismIndexer: who lived, from when to when. Ticks come in any order, and several of them tell of
-- one organism: rows are merged.
CREATE TABLE sim.organisms (
  organism_id bigint PRIMARY KEY,
  birth_tick bigint NOT NULL,
  -- Null for the first ones.
  parent_id bigint,
  -- Null while it lives, as far as is known.
  death_tick bigint
) WITH (fillfactor = 80);

CREATE INDEX organisms_parent ON sim.organisms (parent_id) WHERE parent_id IS NOT NULL;

-- OrganismIndexer: where each organism was, and how it fared.
CREATE TABLE sim.organism_data (
  tick_number bigint NOT NULL,
  organism_id bigint NOT NULL,
  x int NOT NULL,
  y int NOT NULL,
  energy int NOT NULL,
  age int NOT NULL,
  PRIMARY KEY (tick_number, organism_id) WITH (fillfactor = 100)
);

-- StatisticsIndexer: one row per tick. Births and deaths are those since the sampled tick before.
CREATE TABLE sim.tick_statistics (
  tick_number bigint PRIMARY KEY,
  total_energy bigint NOT NULL,
  -- Null when nobody lives.
  mean_energy double precision,
  population int NOT NULL,
  births int NOT NULL,
  deaths int NOT NULL,
  cells int NOT NULL
);

-- Which consumer group each indexer class reads with, and the tables that it alone writes.
CREATE TABLE sim.indexer_groups (
  indexer_class text PRIMARY KEY,
  consumer_group text,
  tables text[] NOT NULL,
  registered_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
