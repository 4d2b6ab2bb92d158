import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Config, ServiceControl, type Tallyman } from "../../app/index.ts";
import { BatchInfoSchema, MetadataInfoSchema } from "../../contracts/index.ts";
import { accountForTicks, bucketTicks, createBatchCoordinator } from "../../coordination/index.ts";
import { runSchemaName } from "../../database/index.ts";
import {
  DummyIndexer,
  EnvironmentIndexer,
  indexedTotals,
  MetadataIndexer,
  MetadataPersistenceService,
  MetadataQueue,
  newRunId,
  OrganismIndexer,
  PersistenceService,
  readTicks,
  SimulationEngine,
  StatisticsIndexer,
  TickQueue,
} from "../../pipeline/index.ts";
import type { Service } from "../../runtime/index.ts";
import { FileSystemStorage } from "../../storage/index.ts";
import { stripLegend, tickStrip } from "../tick-strip.ts";
import type { DemoPart } from "./demo-part.ts";
import { DemoProcesses } from "./demo-processes.ts";
import { FaultyProducer } from "./faulty-producer.ts";
import { until } from "./until.ts";

const maxTicks = 2_000;
const worldSide = 24;
const maxBatchSize = 50;
const ticksPerSecondMax = 1_000;
const leaseMs = 1_000;
const stripWidth = 60;
const indexerOptions = { pollIntervalMs: 100, flushTimeoutMs: 100, sweepIntervalMs: 500 };
const manager = "demo-indexer";
const indexerClass = "EnvironmentIndexer";

/** A simulation, indexed while an announcement is lost, a file is late and an indexer is killed. */
export async function pipelineDemo(
  tallyman: Tallyman,
  say: (text: string) => void,
  config: Config,
): Promise<DemoPart> {
  const rootDirectory = await mkdtemp(join(tmpdir(), "tallyman-demo-ticks-"));
  const runId = newRunId(Date.now());
  try {
    await using processes = await DemoProcesses.open(tallyman, config, secondIndexer(rootDirectory, runId));
    return await showPipeline(tallyman, say, { rootDirectory, runId, processes });
  } finally {
    await rm(rootDirectory, { recursive: true, force: true });
  }
}

/** The configuration of a process that competes with the demo's own indexer of cells. */
function secondIndexer(rootDirectory: string, runId: string) {
  const resources = {
    storage: "storage-read:ticks",
    topic: "topic-read:demo-batches?consumerGroup=environment&claimTimeout=2",
    coordinator: `db-coordinator:index?leaseMs=${leaseMs}`,
  };
  return {
    runId,
    resources: {
      ticks: { className: "FileSystemStorage", options: { rootDirectory } },
      "demo-batches": { className: "PostgresTopic" },
      index: { className: "PostgresDatabase" },
    },
    services: { environment: { className: indexerClass, resources, options: indexerOptions } },
  };
}

async function showPipeline(
  tallyman: Tallyman,
  say: (text: string) => void,
  { rootDirectory, runId, processes }: { rootDirectory: string; runId: string; processes: DemoProcesses },
): Promise<DemoPart> {
  const storage = new FileSystemStorage({ rootDirectory });
  say("Simulating a world; two services write its ticks to files, five indexers turn them into tables …");
  const control = new ServiceControl(tallyman.database);
  processes.start("environment", ["up", "--name", manager, "--no-server"]);
  await until("the second indexer to run", async () =>
    (await control.list()).some(
      ({ name, services }) =>
        name === manager &&
        services.some((service) => service.className === indexerClass && service.state === "RUNNING"),
    ),
  );
  const producer = await FaultyProducer.open(tallyman.topics, storage);
  const gaps = new GapWatch(tallyman, runId);
  const services = await openServices(tallyman, storage, { runId, producer });
  try {
    for (const service of services) await service.start();
    await watch({ say, gaps, processes });
    return await report(tallyman, runId, { storage, gaps });
  } finally {
    for (const { name, managerId } of await control.list())
      if (name === manager) await control.forget(managerId);
    for (const service of services.toReversed()) await service.stop();
  }
}

async function watch({
  say,
  gaps,
  processes,
}: {
  say: (text: string) => void;
  gaps: GapWatch;
  processes: DemoProcesses;
}): Promise<void> {
  await until("the second indexer to hold files", () => gaps.holders().then((count) => count > 1));
  await processes.kill("environment");
  say("Killed one of two indexers of cells in the middle of its work.");
  await until("all ticks to be indexed", async () => {
    await gaps.look();
    return gaps.isComplete();
  });
  const { ranges } = await gaps.account();
  const buckets = bucketTicks(ranges, { samplingInterval: 1, buckets: stripWidth });
  say(tickStrip(buckets.map(({ counts }) => counts)));
  say(stripLegend);
}

async function openServices(
  { database, topics }: Tallyman,
  storage: FileSystemStorage,
  { runId, producer }: { runId: string; producer: FaultyProducer },
): Promise<Service[]> {
  const [queue, metadataQueue] = [new TickQueue(), new MetadataQueue()];
  const metadataOut = await topics.writer(MetadataInfoSchema, { topic: "demo-metadata" });
  const metadataIn = await topics.reader(MetadataInfoSchema, { topic: "demo-metadata", group: "metadata" });
  const persistence = { queue, storage: producer.storage, topic: producer.topic };
  const indexer = async (group: string) => ({
    storage,
    database,
    topic: await topics.reader(BatchInfoSchema, { topic: "demo-batches", group, claimTimeoutMs: 2_000 }),
    coordinator: createBatchCoordinator(database, { leaseMs }),
  });
  const options = { ...indexerOptions, runId };
  return [
    new MetadataPersistenceService("demo-metadata-writer", {
      queue: metadataQueue,
      storage,
      topic: metadataOut,
    }),
    new PersistenceService("demo-writer-1", persistence, { maxBatchSize, batchTimeoutMs: 100 }),
    new PersistenceService("demo-writer-2", persistence, { maxBatchSize, batchTimeoutMs: 100 }),
    new SimulationEngine(
      "demo-world",
      { queue, metadataQueue },
      { runId, maxTicks, ticksPerSecondMax, worldWidth: worldSide, worldHeight: worldSide, seed: 7 },
    ),
    new MetadataIndexer(
      "demo-metadata",
      { storage, database, topic: metadataIn },
      { runId, pollIntervalMs: 50 },
    ),
    new DummyIndexer("demo-dummy", await indexer("dummy"), options),
    new EnvironmentIndexer("demo-environment", await indexer("environment"), options),
    new OrganismIndexer("demo-organisms", await indexer("organisms"), options),
    new StatisticsIndexer("demo-statistics", await indexer("statistics"), options),
  ];
}

/** Looks at the ledger and the gaps of the run as they come and go. */
class GapWatch {
  readonly #tallyman: Tallyman;
  readonly #runId: string;
  readonly #coordinator;
  readonly #found = new Set<number>();

  constructor(tallyman: Tallyman, runId: string) {
    this.#tallyman = tallyman;
    this.#runId = runId;
    const coordinator = createBatchCoordinator(tallyman.database);
    coordinator.setSimulationRun(runId);
    this.#coordinator = coordinator.setIndexerClass(indexerClass);
  }

  get found(): number {
    return this.#found.size;
  }

  async look(): Promise<void> {
    for (const { gapStartTick } of await this.#coordinator.listGaps()) this.#found.add(gapStartTick);
  }

  async open(): Promise<number> {
    return (await this.#coordinator.listGaps()).length;
  }

  account() {
    const expected = { samplingInterval: 1, declaredEnd: maxTicks - 1 };
    return accountForTicks(this.#tallyman.database, this.#runId, indexerClass, expected);
  }

  async isComplete(): Promise<boolean> {
    return (await this.account()).ranges.every(({ tickClass }) => tickClass === "indexed");
  }

  /** Instances that hold or have completed files. */
  async holders(): Promise<number> {
    await this.look();
    return (await this.#coordinator.listInstances()).length;
  }
}

async function report(
  { database }: Tallyman,
  runId: string,
  { storage, gaps }: { storage: FileSystemStorage; gaps: GapWatch },
): Promise<DemoPart> {
  const { ticks: ticksIndexed, cells } = await indexedTotals(database.forRun(runSchemaName(runId)));
  const { ticks: ticksProduced, cells: cellsProduced } = await inFiles(storage, runId);
  const gapsOpen = await gaps.open();
  const gapsFilled = gaps.found - gapsOpen;
  const duplicates = Math.max(0, cells - cellsProduced);
  const isEqual = ticksIndexed === ticksProduced && cells === cellsProduced;
  return {
    success: isEqual && duplicates === 0 && gapsOpen === 0 && gaps.found > 0,
    data: { ticksProduced, ticksIndexed, duplicates, gapsFound: gaps.found, gapsFilled, gapsOpen },
    text: `Pipeline: ${ticksIndexed} of ${ticksProduced} ticks indexed, ${cells} cells, ${duplicates} twice, though an announcement was lost, a file was late and an indexer was killed; gaps found ${gaps.found}, filled ${gapsFilled}, open ${gapsOpen}.`,
  };
}

/** What the producer wrote, counted in the files themselves. */
async function inFiles(storage: FileSystemStorage, runId: string): Promise<{ ticks: number; cells: number }> {
  const total = { ticks: 0, cells: 0 };
  const { files } = await storage.listBatchFiles(runId, undefined, maxTicks);
  for (const { key } of files) {
    await using batch = await storage.openBatch(key);
    for await (const { message } of readTicks(batch)) {
      total.ticks++;
      total.cells += message.cellCount;
    }
  }
  return total;
}
