import type pg from "pg";
import type { Monitorable, OperationalError } from "../monitoring/index.ts";
import { backoffMs, deferred, sleep } from "../runtime/index.ts";
import { explainConnectError } from "./connect-error.ts";
import { DatabaseMetrics } from "./database-metrics.ts";
import { parseDatabaseUrl } from "./database-url.ts";
import type { EmbeddedServer } from "./embedded/embedded-server.ts";
import type { CallerClient, Executor, QueryResult } from "./executor.ts";
import { Listener } from "./listener.ts";
import {
  closedError,
  createPool,
  type DatabaseOptions,
  exhausted,
  isQueueTimeout,
  type PoolStats,
  resolvePoolOptions,
} from "./pool.ts";
import { runTransaction } from "./run-transaction.ts";
import { SchemaNames } from "./schema-names.ts";
import { refuseOldServer } from "./server-version.ts";
import { serverVersion } from "./sql/server-facts.ts";
import { retryClassOf } from "./sqlstate.ts";
import { isRaised, raise, refuseNonTransaction, Transaction } from "./transaction.ts";

const recoveriesMax = 3;
const recoverDelayMs = 50;
/** Some three seconds in all: enough for a server that restarts. */
const transactionAttemptsMax = 10;
const transactionBackoff = { initialMs: 10, maxMs: 1_000, factor: 2, jitter: 0.5 };

/** The pool as seen by statements on one run's tables. */
export interface RunDatabase extends Executor {
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
}

/**
 * The pool of connections to one PostgreSQL. Connections are acquired when a statement needs one and
 * go back at once, so ten serve a hundred indexers. Safe to share between all services of a process.
 *
 * @example
 * ```ts
 * await using database = await Database.connect({ url: "postgres://localhost/app" });
 * const { rows } = await database.query<{ n: number }>("SELECT count(*) AS n FROM tallyman.simulation_run");
 * ```
 */
export class Database implements Executor, Monitorable, AsyncDisposable {
  readonly names: SchemaNames;
  /** Hints from other processes; see {@link Listener}. */
  readonly listener: Listener;
  /** Window of rates and percentiles, here and in what works on this database. */
  readonly metricsWindowSeconds: number;
  readonly #pool: pg.Pool;
  readonly #url: string;
  readonly #embedded: EmbeddedServer | undefined;
  readonly #metrics: DatabaseMetrics;
  readonly #closing = deferred<undefined>();
  #closed: Promise<void> | undefined;

  private constructor(given: DatabaseOptions, embedded: EmbeddedServer | undefined) {
    const options = resolvePoolOptions(given);
    parseDatabaseUrl(options.url);
    this.#url = options.url;
    this.#embedded = embedded;
    this.names = new SchemaNames(options.schema);
    this.metricsWindowSeconds = options.metricsWindowSeconds;
    this.#metrics = new DatabaseMetrics(options.metricsWindowSeconds);
    this.#pool = createPool(options);
    const listenUrl = options.listenUrl === undefined ? options.url : options.listenUrl;
    this.listener = new Listener(listenUrl);
  }

  /**
   * Connects and checks log-in and version.
   *
   * @param embedded the attachment that restarts the server when it is gone; closed by its owner
   * @throws TallymanError DATABASE_URL_INVALID, DATABASE_UNREACHABLE, DATABASE_LOGIN_FAILED or
   * DATABASE_VERSION_UNSUPPORTED
   */
  static async connect(options: DatabaseOptions, embedded?: EmbeddedServer): Promise<Database> {
    const database = new Database(options, embedded);
    try {
      refuseOldServer(await serverVersion(database));
      return database;
    } catch (error) {
      await database.close();
      throw error;
    }
  }

  get stats(): PoolStats {
    const { totalCount: total, idleCount: idle, waitingCount: waiting } = this.#pool;
    return { total, idle, active: total - idle, waiting, max: this.#pool.options.max };
  }

  /** Runs one statement on a connection of its own. */
  async query<Row extends object = Record<string, unknown>>(
    text: string,
    values: readonly unknown[] = [],
  ): Promise<QueryResult<Row>> {
    return this.#query<Row>(this.names, text, values);
  }

  /**
   * Runs `work` between BEGIN and COMMIT; an error rolls everything back and is thrown on.
   * Deadlocks, serialisation failures and connections lost before COMMIT run `work` again, so it must
   * have no effects outside the transaction.
   *
   * @throws TallymanError COMMIT_UNKNOWN when the connection broke while the commit was under way
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#transaction(this.names, work);
  }

  /** The same pool, for statements on one run's tables. */
  forRun(runSchema: string): RunDatabase {
    const names = this.names.forRun(runSchema);
    return {
      query: (text, values = []) => this.#query(names, text, values),
      transaction: (work) => this.#transaction(names, work),
    };
  }

  /**
   * A caller's own transaction as a {@link Transaction}: what we write in it commits with the
   * caller's work. Passes a {@link Transaction} through.
   *
   * @throws TallymanError INVALID_OPTION for a pool or anything without `query`
   */
  join(client: Transaction | CallerClient): Transaction {
    if (client instanceof Transaction) return client;
    refuseNonTransaction(client);
    return new Transaction(client, this.names, this.#metrics);
  }

  /**
   * This database as seen from inside a transaction: whatever is asked of it happens there, and commits or fails with
   * it. A transaction inside is part of the outer one: its failure must fail that too.
   */
  within(tx: Transaction): Database {
    const inside: Pick<Database, "query" | "transaction" | "forRun" | "join"> = {
      query: (text, values) => tx.query(text, values),
      transaction: (work) => work(tx),
      forRun: (runSchema) => {
        const run = tx.forRun(runSchema);
        return { query: (text, values) => run.query(text, values), transaction: (work) => work(run) };
      },
      join: (client) => (client instanceof Transaction ? client : this.join(client)),
    };
    return Object.assign(Object.create(this), inside);
  }

  getMetrics(): Readonly<Record<string, number>> {
    const { active, idle, total } = this.stats;
    return {
      ...this.#metrics.values,
      pool_active_connections: active,
      pool_idle_connections: idle,
      pool_total_connections: total,
    };
  }

  /** False from a failed attempt to connect until one succeeds. */
  isHealthy(): boolean {
    return this.#metrics.isReachable;
  }

  getErrors(): readonly OperationalError[] {
    return this.#metrics.errors.list();
  }

  clearErrors(): void {
    this.#metrics.errors.clear();
  }

  /** Closes every connection; running statements end first. Safe to call twice. */
  close(): Promise<void> {
    this.#closed ??= this.#closeAll();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #closeAll(): Promise<void> {
    this.#closing.resolve(undefined);
    await this.listener.close();
    await this.#pool.end();
  }

  async #query<Row extends object>(
    names: SchemaNames,
    text: string,
    values: readonly unknown[],
  ): Promise<QueryResult<Row>> {
    return this.#withClient((client) =>
      new Transaction(client, names, this.#metrics).query<Row>(text, values),
    );
  }

  async #transaction<T>(names: SchemaNames, work: (tx: Transaction) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#withClient((client) =>
          runTransaction(client, new Transaction(client, names, this.#metrics), work),
        );
      } catch (error) {
        const canRetry = isRaised(error) && retryClassOf(error) !== undefined;
        if (attempt >= transactionAttemptsMax || !canRetry) throw error;
        await sleep(backoffMs(attempt, transactionBackoff));
      }
    }
  }

  async #withClient<T>(use: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#acquire();
    let broken = false;
    try {
      return await use(client);
    } catch (error) {
      broken = retryClassOf(error) === "connection-lost" || client.getTransactionStatus() !== "I";
      throw error;
    } finally {
      client.release(broken);
    }
  }

  async #acquire(): Promise<pg.PoolClient> {
    for (let recoveries = 0; ; recoveries++) {
      try {
        const client = await this.#connect();
        this.#metrics.connected();
        return client;
      } catch (error) {
        if (this.#closed) throw closedError();
        this.#metrics.unreachable(error);
        if (isQueueTimeout(error)) throw exhausted(this.stats, error);
        const embedded = recoveries < recoveriesMax ? this.#embedded : undefined;
        if (!embedded || retryClassOf(error) !== "connection-lost")
          raise(explainConnectError(error, this.#url));
        await this.#recover(embedded);
      }
    }
  }

  /** A free connection; callers that still wait when the pool is closed are told so at once. */
  async #connect(): Promise<pg.PoolClient> {
    if (this.#closed) throw closedError();
    const connecting = this.#pool.connect();
    const client = await Promise.race([connecting, this.#closing.promise]);
    if (client) return client;
    connecting.then((late) => late.release()).catch(() => undefined);
    throw closedError();
  }

  /** A refused connection means that the embedded server is down: start it, then try again. */
  async #recover(embedded: EmbeddedServer): Promise<void> {
    await sleep(recoverDelayMs);
    await embedded.ensureAttached();
    const url = new URL(this.#url);
    url.port = String(embedded.port);
    this.#pool.options.connectionString = url.toString();
    this.listener.moveTo(url.toString());
  }
}
