import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { loadConfig, ServiceBoard, ServiceManager, type Tallyman } from "../../app/index.ts";
import { newRunId } from "../../pipeline/index.ts";

const indexerOptions = { pollIntervalMs: 250, flushTimeoutMs: 500, sweepIntervalMs: 2_000 };

/** A pipeline as a user would configure it. */
function settingsOf(runId: string) {
  const write = { storage: "storage-write:ticks", topic: "topic-write:batches" };
  const indexer = (className: string, group: string) => ({
    className,
    resources: {
      storage: "storage-read:ticks",
      topic: `topic-read:batches?consumerGroup=${group}`,
      coordinator: "db-coordinator:index",
    },
    options: indexerOptions,
  });
  return {
    runId,
    resources: {
      ticks: { className: "FileSystemStorage", options: { rootDirectory: "ticks" } },
      batches: { className: "PostgresTopic" },
      metadata: { className: "PostgresTopic" },
      index: { className: "PostgresDatabase" },
      "tick-queue": { className: "TickQueue" },
      "metadata-queue": { className: "MetadataQueue" },
    },
    services: {
      "metadata-indexer": {
        className: "MetadataIndexer",
        resources: { storage: "storage-read:ticks", topic: "topic-read:metadata?consumerGroup=metadata" },
        options: { pollIntervalMs: 250 },
      },
      "environment-indexer": indexer("EnvironmentIndexer", "environment"),
      "organism-indexer": indexer("OrganismIndexer", "organisms"),
      "statistics-indexer": indexer("StatisticsIndexer", "statistics"),
      "metadata-persistence": {
        className: "MetadataPersistenceService",
        resources: {
          queue: "queue-in:metadata-queue",
          storage: write.storage,
          topic: "topic-write:metadata",
        },
      },
      persistence: {
        className: "PersistenceService",
        resources: { queue: "queue-in:tick-queue", ...write },
        options: { maxBatchSize: 10, batchTimeoutMs: 2_000 },
      },
      simulation: {
        className: "SimulationEngine",
        resources: { queue: "queue-out:tick-queue", metadataQueue: "queue-out:metadata-queue" },
        options: { worldWidth: 48, worldHeight: 32, samplingInterval: 5, ticksPerSecondMax: 25, seed: 7 },
      },
    },
  };
}

/** A world that goes on, indexed as it goes, in services that others can see and operate. */
export class LivingPipeline implements AsyncDisposable {
  readonly #manager: ServiceManager;
  readonly #board: ServiceBoard;

  private constructor(manager: ServiceManager, board: ServiceBoard) {
    this.#manager = manager;
    this.#board = board;
  }

  /** @param folder where its files go */
  static async start(tallyman: Tallyman, folder: string): Promise<LivingPipeline> {
    const file = join(folder, "tallyman.config.yaml");
    await writeFile(file, JSON.stringify(settingsOf(newRunId(Date.now()))));
    const config = await loadConfig({ flags: { config: file } });
    const manager = new ServiceManager(tallyman, config, { folder });
    const board = new ServiceBoard(tallyman.database, manager, { name: "demo-pipeline" });
    const pipeline = new LivingPipeline(manager, board);
    await board.start();
    await manager.start();
    return pipeline;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#manager.stop();
    await this.#board.stop();
  }
}
