import type { Database } from "../../database/index.ts";
import { ensureRunSchema, errorCodeOf, validateRunId } from "../../database/index.ts";
import { toTallymanError } from "../../errors/index.ts";
import { Counter, MonitoredService } from "../../monitoring/index.ts";
import { backoffMs, logger, sleep } from "../../runtime/index.ts";
import type { BatchStorage } from "../../storage/index.ts";
import { isOutage } from "./outage.ts";
import { discoverRun, type RunDiscoveryOptions } from "./run-discovery.ts";

/** SQLSTATEs of something that somebody else has just made: duplicate_table, duplicate_object, unique_violation. */
const madeMeanwhile = new Set(["42P07", "42710", "23505"]);
const outageBackoff = { initialMs: 100, maxMs: 5_000, factor: 2, jitter: 0.5 };

/** What every indexer works with. */
export interface IndexerResources {
  /** Where the batch files are. */
  readonly storage: BatchStorage;
  /** Where the tables are. */
  readonly database: Database;
}

/** Anything that must know the run before it is used. */
export interface RunScoped {
  setSimulationRun(runId: string): void;
}

/**
 * The core of every indexer: finds its run, prepares the run's schema, tells all resources, then works
 * turn by turn. A turn that meets a database, topic or storage that is down is made again, later each time.
 * It knows nothing of batches; see {@link BatchIndexer} for that.
 *
 * @example
 * ```ts
 * class RunLister extends Indexer {
 *   protected override async indexRun(runId: string) {
 *     console.log(runId);
 *     void this.stop();
 *   }
 *   protected override runScopedResources() {
 *     return [];
 *   }
 * }
 * ```
 */
export abstract class Indexer extends MonitoredService {
  protected readonly storage: BatchStorage;
  protected readonly database: Database;
  readonly #discovery: RunDiscoveryOptions;
  /** Kept over restarts: a service that comes back goes on with its run. */
  #runId: string | undefined;
  #createdAt = new Date();
  readonly #runs = new Counter();
  #isPrepared = false;
  #outages = 0;

  /** @throws TallymanError RUN_ID_INVALID */
  constructor(name: string, { storage, database }: IndexerResources, discovery: RunDiscoveryOptions) {
    super(name);
    if (discovery.runId !== undefined) validateRunId(discovery.runId);
    this.storage = storage;
    this.database = database;
    this.#discovery = discovery;
  }

  /** One turn of work on the run; called again and again until the service stops. */
  protected abstract indexRun(runId: string, signal: AbortSignal): Promise<void>;

  /**
   * Makes what the indexer needs in the run's schema, which is there. Be idempotent (`IF NOT EXISTS`): it runs with every
   * start, and again when another instance made the same at the same moment.
   */
  protected prepareSchema?(runId: string): Promise<void>;

  /** Resources that work on one run; they are told which, before anything is indexed. */
  protected abstract runScopedResources(): readonly RunScoped[];

  /** The run that is indexed, once it is known. */
  get runId(): string | undefined {
    return this.#runId;
  }

  override getMetrics(): Readonly<Record<string, number>> {
    return { ...super.getMetrics(), runs_processed: this.#runs.value };
  }

  protected override async onStart(_signal: AbortSignal): Promise<void> {
    this.#isPrepared = false;
  }

  protected override async runOnce(signal: AbortSignal): Promise<void> {
    try {
      this.#runId ??= await this.#discoverRunId(signal);
      if (!this.#isPrepared) await this.#prepare(this.#runId);
      await this.indexRun(this.#runId, signal);
      this.#outages = 0;
    } catch (error) {
      if (!isOutage(error)) throw error;
      await this.waitOut(error, signal);
    }
  }

  /** Waits for what is down, longer each time until a turn succeeds; warns at the first. */
  protected async waitOut(error: unknown, signal: AbortSignal): Promise<void> {
    this.#outages++;
    const reason = toTallymanError(error).message;
    if (this.#outages === 1) logger(this.name).warn(`Waiting for database, topic and storage: ${reason}`);
    await sleep(backoffMs(this.#outages, outageBackoff), signal);
  }

  async #discoverRunId(signal: AbortSignal): Promise<string> {
    const runId = await discoverRun(this.storage, this.#createdAt, this.#discovery, signal);
    logger(this.name).info(`Indexing run ${runId}.`);
    this.#runs.increment();
    return runId;
  }

  async #prepare(runId: string): Promise<void> {
    await ensureRunSchema(this.database, runId);
    for (const resource of this.runScopedResources()) resource.setSimulationRun(runId);
    await this.prepareSchema?.(runId).catch((error: unknown) => {
      // Instances that start together make the same tables; `IF NOT EXISTS` does not see what is not committed yet.
      if (!madeMeanwhile.has(errorCodeOf(error) ?? "")) throw error;
      return this.prepareSchema?.(runId);
    });
    this.#isPrepared = true;
  }
}
