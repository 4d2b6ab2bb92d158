import pg from "pg";
import { TallymanError } from "../errors/index.ts";
import type { Monitorable, OperationalError } from "../monitoring/index.ts";
import { backoffMs, logger, sleep } from "../runtime/index.ts";
import { explainConnectError } from "./connect-error.ts";
import { DatabaseMetrics } from "./database-metrics.ts";
import { parseDatabaseUrl } from "./database-url.ts";
import type { EmbeddedServer } from "./embedded/embedded-server.ts";
import type { CallerClient, Executor, QueryResult } from "./executor.ts";
import { Listener } from "./listener.ts";
import { defaultSchema, SchemaNames } from "./schema-names.ts";
import { refuseOldServer } from "./server-version.ts";
import { serverVersion } from "./sql/server-facts.ts";
import { retryClassOf } from "./sqlstate.ts";
import { refusePool, Transaction } from "./transaction.ts";
import { typeParsers } from "./type-parsers.ts";

const log = logger("database");

const acquireTimeoutMsDefault = 10_000;
const idleTimeoutMs = 10_000;
const recoveriesMax = 3;
const transactionAttemptsMax = 5;
const transactionBackoff = { initialMs: 10, maxMs: 500, factor: 2, jitter: 0.5 };

/** How to reach a database. */
export interface DatabaseOptions {
  /** `postgres://user:password@host:5432/name`. */
  readonly url: string;
  /** Schema of Tallyman's tables. Default `tallyman`. */
  readonly schema?: string;
  /** Connections at most. Default 10; they are opened when needed and closed when idle. */
  readonly poolMax?: number;
  /** Direct connection for LISTEN when `url` goes through PgBouncer; null: poll only. Default `url`. */
  readonly listenUrl?: string | null;
  /** How long a statement waits for a connection. Default 10 s. */
  readonly acquireTimeoutMs?: number;
  /** Window of the rates in {@link Database.getMetrics}. Default 5 s. */
  readonly metricsWindowSeconds?: number;
  /** Shown in `pg_stat_activity`. Default `tallyman`. */
  readonly applicationName?: string;
}

/** The pool as seen by statements on one run's tables. */
export interface RunDatabase extends Executor {
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
}

/** Connections of the pool at this moment. */
export interface PoolStats {
  readonly total: number;
  readonly idle: number;
  readonly active: number;
  readonly waiting: number;
  readonly max: number;
}

/**
 * The pool of connections to one PostgreSQL. Connections are acquired when a statement needs one and
 * go back at once, so ten serve a hundred indexers. Safe to share between all services of a process.
 *
 * @example
 * ```ts
 * await using database = await Database.connect({ url: process.env.DATABASE_URL });
 * const { rows } = await database.query<{ n: number }>("SELECT count(*) AS n FROM tallyman.simulation_run");
 * ```
 */
export class Database implements Executor, Monitorable, AsyncDisposable {
  readonly names: SchemaNames;
  /** Hints from other processes; see {@link Listener}. */
  readonly listener: Listener;
  readonly #pool: pg.Pool;
  readonly #url: string;
  readonly #embedded: EmbeddedServer | undefined;
  readonly #metrics: DatabaseMetrics;
  #closed: Promise<void> | undefined;

  private constructor(options: DatabaseOptions, embedded: EmbeddedServer | undefined) {
    parseDatabaseUrl(options.url);
    this.#url = options.url;
    this.#embedded = embedded;
    this.names = new SchemaNames(options.schema ?? defaultSchema);
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
    refusePool(client);
    return new Transaction(client, this.names, this.#metrics);
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
    this.#closed ??= this.listener.close().then(() => this.#pool.end());
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
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
        if (attempt >= transactionAttemptsMax || retryClassOf(error) === undefined) throw error;
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
        const client = await this.#pool.connect();
        this.#metrics.connected();
        return client;
      } catch (error) {
        this.#metrics.unreachable(error);
        if (this.#pool.totalCount >= this.#pool.options.max) throw exhausted(this.stats, error);
        const canRecover = this.#embedded && recoveries < recoveriesMax;
        if (!canRecover || retryClassOf(error) !== "connection-lost")
          throw explainConnectError(error, this.#url);
        await this.#recover(this.#embedded);
      }
    }
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

const recoverDelayMs = 50;

function createPool(options: DatabaseOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.poolMax ?? 10,
    application_name: options.applicationName ?? "tallyman",
    connectionTimeoutMillis: options.acquireTimeoutMs ?? acquireTimeoutMsDefault,
    idleTimeoutMillis: idleTimeoutMs,
    keepAlive: true,
    types: typeParsers,
    pipeline: true,
  } as pg.PoolConfig);
  // Without a listener an error on a checked-out or idle connection would end the process; whoever
  // uses the connection gets the error from its statement.
  pool.on("connect", (client) => client.on("error", () => undefined));
  pool.on("error", (error) => log.debug("Idle connection lost", { reason: error.message }));
  return pool;
}

async function runTransaction<T>(
  client: pg.PoolClient,
  tx: Transaction,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  await client.query("BEGIN");
  let result: T;
  try {
    result = await work(tx);
  } catch (error) {
    await client.query("ROLLBACK").catch(() => undefined);
    throw error;
  }
  await commit(client);
  return result;
}

async function commit(client: pg.PoolClient): Promise<void> {
  const { command } = await client.query("COMMIT").catch((error: unknown) => {
    if (retryClassOf(error) !== "connection-lost") throw error;
    throw new TallymanError(
      "COMMIT_UNKNOWN",
      "The connection to PostgreSQL broke during COMMIT: look for the effect before doing it again.",
      { cause: error },
    );
  });
  // The server answers COMMIT of a failed transaction with ROLLBACK, and no error.
  if (command !== "COMMIT") {
    throw new TallymanError(
      "DATABASE_ERROR",
      "The transaction was rolled back: one of its statements had failed and its error was not passed on.",
    );
  }
}

function exhausted(stats: PoolStats, cause: unknown): TallymanError {
  return new TallymanError(
    "DATABASE_POOL_EXHAUSTED",
    `No connection became free in time (${stats.active} of ${stats.max} in use, ${stats.waiting} waiting). Raise the pool's size, or look for transactions that stay open.`,
    { cause, details: { ...stats } },
  );
}
