/*
 * Three indexers of one's own over the ticks of a small simulation: one that writes tick by tick, one that is
 * made of nothing at all, and one that writes every tick exactly once, many at a time.
 *
 *   node --import tsx examples/06-custom-indexer.ts
 *
 * Needs nothing: it runs on the embedded PostgreSQL, in .tallyman of the working directory.
 */
import {
  BatchIndexer,
  BatchInfoSchema,
  type ComponentType,
  configureLogging,
  FileSystemStorage,
  type FlushContext,
  MetadataIndexer,
  MetadataInfoSchema,
  MetadataPersistenceService,
  MetadataQueue,
  newRunId,
  PersistenceService,
  runSchemaName,
  SimulationEngine,
  Tallyman,
  type TickData,
  TickQueue,
} from "../src/index.ts";

/** Waits for metadata, then upserts tick by tick; safe without a ledger because a tick written twice changes nothing. */
class SimpleBatchIndexer extends BatchIndexer {
  protected override getRequiredComponents() {
    return new Set<ComponentType>(["METADATA"]);
  }

  protected override async prepareSchema(run: string) {
    await tablesOf(run).query(
      "CREATE TABLE IF NOT EXISTS sim.simple_data (tick_number int8 PRIMARY KEY, organisms int)",
    );
  }

  protected override async flushTicks([tick]: readonly TickData[], { tx }: FlushContext) {
    await tx.query("INSERT INTO sim.simple_data VALUES ($1, $2) ON CONFLICT (tick_number) DO NOTHING", [
      tick?.tickNumber,
      tick?.organisms.length,
    ]);
  }
}

/** Made of nothing: gets every announced tick, and only looks. */
class MinimalBatchIndexer extends BatchIndexer {
  ticks = 0;

  protected override getRequiredComponents() {
    return new Set<ComponentType>();
  }

  protected override flushTicks(ticks: readonly TickData[]) {
    this.ticks += ticks.length;
  }
}

/** Adds up, which must not happen twice: the ledger sees to it. */
class EnergySum extends BatchIndexer {
  protected override getRequiredComponents() {
    return new Set<ComponentType>(["METADATA", "COORDINATION", "GAP_DETECTION", "BUFFERING"]);
  }

  protected override async prepareSchema(run: string) {
    await tablesOf(run).query(
      "CREATE TABLE IF NOT EXISTS sim.energy_sum AS SELECT 0::int8 AS ticks, 0::int8 AS energy",
    );
  }

  protected override async flushTicks(ticks: readonly TickData[], { tx }: FlushContext) {
    const energy = ticks.flatMap(({ organisms }) => organisms.map((organism) => organism.energy));
    const sum = energy.reduce((total, value) => total + value, 0);
    await tx.query("UPDATE sim.energy_sum SET ticks = ticks + $1, energy = energy + $2", [ticks.length, sum]);
  }
}

const maxTicks = 500;
configureLogging({ level: "warn" });
await using tallyman = await Tallyman.embedded();
const { database, topics } = tallyman;
const storage = new FileSystemStorage({ rootDirectory: ".tallyman/example-storage" });
const runId = newRunId();

/** The run's own schema, which statements call `sim`. */
function tablesOf(run: string) {
  return database.forRun(runSchemaName(run));
}

const [queue, metadataQueue] = [new TickQueue(), new MetadataQueue()];
const batches = await topics.writer(BatchInfoSchema, { topic: "example-batches" });
const metadata = await topics.writer(MetadataInfoSchema, { topic: "example-metadata" });
const reader = (group: string) => topics.reader(BatchInfoSchema, { topic: "example-batches", group });
const options = { runId, pollIntervalMs: 100, metadataPollIntervalMs: 100, flushTimeoutMs: 100 };
const minimal = new MinimalBatchIndexer(
  "minimal",
  { storage, database, topic: await reader("minimal") },
  options,
);
const simple = new SimpleBatchIndexer(
  "simple",
  { storage, database, topic: await reader("simple") },
  options,
);
const sum = new EnergySum("energy", { storage, database, topic: await reader("energy") }, options);
const services = [
  new MetadataPersistenceService("metadata-writer", { queue: metadataQueue, storage, topic: metadata }),
  new PersistenceService(
    "writer",
    { queue, storage, topic: batches },
    { maxBatchSize: 100, batchTimeoutMs: 100 },
  ),
  new SimulationEngine(
    "world",
    { queue, metadataQueue },
    { runId, maxTicks, worldWidth: 16, worldHeight: 16 },
  ),
  new MetadataIndexer(
    "metadata",
    {
      storage,
      database,
      topic: await topics.reader(MetadataInfoSchema, { topic: "example-metadata", group: "metadata" }),
    },
    { runId, pollIntervalMs: 100 },
  ),
  sum,
  simple,
  minimal,
];
for (const service of services) await service.start();
while ([sum, simple, minimal].some((indexer) => (indexer.getMetrics().ticks_processed ?? 0) < maxTicks))
  await new Promise((resolve) => setTimeout(resolve, 50));
for (const service of services) await service.stop();

const { rows } = await tablesOf(runId).query(
  "SELECT (SELECT count(*) FROM sim.simple_data) AS simple, (SELECT ticks FROM sim.energy_sum) AS summed",
);
console.log(
  `simple ${rows[0]?.simple}, minimal ${minimal.ticks}, summed ${rows[0]?.summed} of ${maxTicks} ticks`,
);
