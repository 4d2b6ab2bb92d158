import {
  type CallerClient,
  type Database,
  type Executor,
  ensureRunSchema,
  errorCodeOf,
  type RunDatabase,
  runSchemaName,
  type Transaction,
} from "../database/index.ts";
import { TallymanError } from "../errors/index.ts";
import { ErrorLog, type Monitorable, type OperationalError } from "../monitoring/index.ts";

/** Settings that every capability has. */
export interface CapabilityOptions {
  /** Window of the latency percentiles. Default: the database's. */
  readonly metricsWindowSeconds?: number;
}

/** SQLSTATEs of a schema or table that is not there. */
const absentCodes = new Set(["3F000", "42P01"]);

/**
 * One thing that a service may do with the database of a run: coordinate, read or write metadata,
 * remember what was processed. It holds no connection: each statement takes one from the pool and
 * gives it back, so that a hundred services share ten. Safe for concurrent use.
 */
export abstract class DatabaseCapability implements Monitorable, AsyncDisposable {
  protected readonly database: Database;
  protected readonly errors: ErrorLog = new ErrorLog();
  #runId: string | undefined;
  #inFlight = 0;

  constructor(database: Database) {
    this.database = database;
  }

  /**
   * Names the run whose tables every later operation uses. The tables are made with the first write.
   *
   * @throws TallymanError RUN_ID_INVALID
   */
  setSimulationRun(runId: string): void {
    runSchemaName(runId);
    this.#runId = runId;
  }

  /** The run that was set. */
  get runId(): string {
    if (this.#runId !== undefined) return this.#runId;
    throw new TallymanError("INVALID_STATE", "No simulation run is set: call setSimulationRun() first.");
  }

  getMetrics(): Readonly<Record<string, number>> {
    return { error_count: this.errors.size, connection_cached: this.#inFlight > 0 ? 1 : 0 };
  }

  isHealthy(): boolean {
    return this.database.isHealthy();
  }

  getErrors(): readonly OperationalError[] {
    return this.errors.list();
  }

  clearErrors(): void {
    this.errors.clear();
  }

  /** Nothing is held between operations, so there is nothing to release. */
  async [Symbol.asyncDispose](): Promise<void> {}

  /** Runs statements on the run's tables, in the caller's transaction when there is one. */
  protected async write<T>(
    work: (executor: Executor) => Promise<T>,
    tx?: Transaction | CallerClient,
  ): Promise<T> {
    const schema = await ensureRunSchema(this.database, this.runId);
    return this.#counted(() =>
      work(tx ? this.database.join(tx).forRun(schema) : this.database.forRun(schema)),
    );
  }

  /** Runs `work` in a transaction on the run's tables: the caller's, or one of its own. */
  protected async transaction<T>(
    work: (tx: Transaction, schema: string) => Promise<T>,
    tx?: Transaction | CallerClient,
  ): Promise<T> {
    const schema = await ensureRunSchema(this.database, this.runId);
    return this.#counted(() =>
      tx
        ? work(this.database.join(tx).forRun(schema), schema)
        : this.database.forRun(schema).transaction((own) => work(own, schema)),
    );
  }

  /** Reads the run's tables without making them; `absent` when there are none. */
  protected read<T>(work: (executor: RunDatabase) => Promise<T>, absent: T): Promise<T> {
    return this.#counted(() =>
      work(this.database.forRun(runSchemaName(this.runId))).catch((error: unknown) => {
        if (absentCodes.has(errorCodeOf(error) ?? "")) return absent;
        throw error;
      }),
    );
  }

  async #counted<T>(work: () => Promise<T>): Promise<T> {
    this.#inFlight++;
    try {
      return await work();
    } finally {
      this.#inFlight--;
    }
  }
}
