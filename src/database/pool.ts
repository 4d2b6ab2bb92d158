import pg from "pg";
import { TallymanError } from "../errors/index.ts";
import { logger, type OptionDefaults, required, resolveOptions } from "../runtime/index.ts";
import { keepAlive } from "./keep-alive.ts";
import { defaultSchema } from "./schema-names.ts";
import { typeParsers } from "./type-parsers.ts";

const log = logger("database");
const idleTimeoutMs = 10_000;

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
  /** Window of rates and percentiles, here and in what works on this database. Default 5 s. */
  readonly metricsWindowSeconds?: number;
  /** Shown in `pg_stat_activity`. Default `tallyman`. */
  readonly applicationName?: string;
}

/** The options with their defaults. */
export type PoolOptions = Required<Omit<DatabaseOptions, "listenUrl">> & Pick<DatabaseOptions, "listenUrl">;

const poolDefaults: OptionDefaults<Required<Omit<DatabaseOptions, "listenUrl">>> = {
  url: required,
  schema: defaultSchema,
  poolMax: 10,
  acquireTimeoutMs: 10_000,
  metricsWindowSeconds: 5,
  applicationName: "tallyman",
};

/** Checks the options and fills in the defaults. */
export function resolvePoolOptions({ listenUrl, ...given }: DatabaseOptions): PoolOptions {
  const options = resolveOptions(poolDefaults, given);
  return listenUrl === undefined ? options : { ...options, listenUrl };
}

/** Connections of the pool at this moment. */
export interface PoolStats {
  readonly total: number;
  readonly idle: number;
  readonly active: number;
  readonly waiting: number;
  readonly max: number;
}

/** The pool itself; who uses a connection gets its errors from the statement. */
export function createPool(options: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.poolMax,
    application_name: options.applicationName,
    connectionTimeoutMillis: options.acquireTimeoutMs,
    idleTimeoutMillis: idleTimeoutMs,
    ...keepAlive,
    types: typeParsers,
    pipeline: true,
  } as pg.PoolConfig);
  // Without a listener an error on a checked-out or idle connection would end the process; whoever
  // uses the connection gets the error from its statement.
  pool.on("connect", (client) => client.on("error", () => undefined));
  pool.on("error", (error) => log.debug("Idle connection lost", { reason: error.message }));
  return pool;
}

/** `pg-pool` tells a caller that waited for a free connection from one whose connection failed by this text alone. */
export function isQueueTimeout(error: unknown): boolean {
  return error instanceof Error && error.message === "timeout exceeded when trying to connect";
}

export function exhausted(stats: PoolStats, cause: unknown): TallymanError {
  return new TallymanError(
    "DATABASE_POOL_EXHAUSTED",
    `No connection became free in time (${stats.active} of ${stats.max} in use, ${stats.waiting} waiting). Raise the pool's size, or look for transactions that stay open.`,
    { cause, details: { ...stats } },
  );
}

/** The pool was closed; nothing runs on it any more. */
export function closedError(): TallymanError {
  return new TallymanError("INVALID_STATE", "The database is closed.");
}
