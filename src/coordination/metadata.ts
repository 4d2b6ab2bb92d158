import type { SimulationMetadata } from "../contracts/index.ts";
import type { Database } from "../database/index.ts";
import { Counter, latencyMetrics, TimedOperation } from "../monitoring/index.ts";
import type { WriteOptions } from "./batch-coordinator.ts";
import { type CapabilityOptions, DatabaseCapability } from "./database-capability.ts";
import { MetadataNotFoundError } from "./errors.ts";
import { fromEntries, toEntries } from "./metadata-entries.ts";
import { refuseBadMetadata } from "./refuse-bad-metadata.ts";
import { readMetadata, upsertMetadata } from "./sql/metadata.ts";

/**
 * Reads the metadata that a MetadataIndexer wrote. Never waits: ask again later when it is not there.
 *
 * @example
 * ```ts
 * const reader = new MetadataReader(database);
 * const metadata = await reader.getMetadata("run-1");
 * ```
 */
export class MetadataReader extends DatabaseCapability {
  readonly #get: TimedOperation;
  readonly #has: TimedOperation;
  readonly #notFound = new Counter();

  constructor(database: Database, options: CapabilityOptions = {}) {
    super(database);
    const { errors } = this;
    const windowSeconds = options.metricsWindowSeconds ?? database.metricsWindowSeconds;
    const timed = (code: string, message: string) =>
      new TimedOperation({ code, message, errors, windowSeconds });
    this.#get = timed("GET_METADATA_FAILED", "Failed to read metadata");
    this.#has = timed("HAS_METADATA_FAILED", "Failed to check metadata existence");
  }

  /**
   * The run's metadata.
   *
   * @throws MetadataNotFoundError while it is not indexed
   */
  async getMetadata(runId: string): Promise<SimulationMetadata> {
    const metadata = await this.#get.run(`Run: ${runId}`, () => this.#load(runId));
    if (metadata) return metadata;
    this.#notFound.increment();
    throw new MetadataNotFoundError(runId);
  }

  /** True only when the metadata is there; a schema alone does not count. */
  async hasMetadata(runId: string): Promise<boolean> {
    return this.#has.run(`Run: ${runId}`, async () => (await this.#load(runId)) !== undefined);
  }

  override getMetrics(): Readonly<Record<string, number>> {
    return {
      ...super.getMetrics(),
      metadata_reads: this.#get.attempts.value - this.#get.failures.value - this.#notFound.value,
      metadata_not_found: this.#notFound.value,
      read_errors: this.#get.failures.value + this.#has.failures.value,
      ...latencyMetrics("get_metadata_latency", this.#get.latency),
      ...latencyMetrics("has_metadata_latency", this.#has.latency),
    };
  }

  async #load(runId: string): Promise<SimulationMetadata | undefined> {
    this.setSimulationRun(runId);
    return fromEntries(await this.read(readMetadata, {}));
  }
}

/** A run's metadata; undefined while it is not indexed. */
export async function findMetadata(
  database: Database,
  runId: string,
): Promise<SimulationMetadata | undefined> {
  return new MetadataReader(database).getMetadata(runId).catch((error: unknown) => {
    if (error instanceof MetadataNotFoundError) return undefined;
    throw error;
  });
}

/** Writes a run's metadata, making the run's schema when it is the first to come. */
export class MetadataWriter extends DatabaseCapability {
  readonly #written = new Counter();

  /** Makes the run's schema and tables. Safe when many do it at once. */
  async createSimulationRun(runId: string): Promise<void> {
    this.setSimulationRun(runId);
    await this.write(async () => undefined);
  }

  /**
   * Writes the metadata; the same again changes nothing.
   *
   * @throws TallymanError RUN_ID_INVALID, METADATA_INVALID
   */
  async insertMetadata(
    runId: string,
    metadata: SimulationMetadata,
    { tx }: WriteOptions = {},
  ): Promise<void> {
    this.setSimulationRun(runId);
    refuseBadMetadata(runId, metadata);
    await this.write((executor) => upsertMetadata(executor, toEntries(metadata)), tx);
    this.#written.increment();
  }

  override getMetrics(): Readonly<Record<string, number>> {
    return { ...super.getMetrics(), rows_inserted: this.#written.value };
  }
}
