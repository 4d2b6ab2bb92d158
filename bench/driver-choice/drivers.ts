import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import pg from "pg";
import { from as copyFrom } from "pg-copy-streams";

/** One SQL statement; with a `name` it is prepared once per connection, without one it is unnamed. */
export interface Statement {
  text: string;
  values?: unknown[];
  name?: string;
}

export type Row = Record<string, unknown>;

/** What the scenarios need of a driver: one session, used the way its own documentation recommends. */
export interface Session {
  query(statement: Statement): Promise<Row[]>;
  /** Sends every statement before awaiting the first answer; one outcome per statement. */
  sendAll(statements: Statement[]): Promise<PromiseSettledResult<unknown>[]>;
  copyIn(text: string, chunks: Iterable<Buffer>): Promise<void>;
  close(): Promise<void>;
}

export type DriverName = "pg" | "postgres";

/** The few members of postgres.js used here, so that type-checking does not need the package. */
interface PostgresQuery extends Promise<Row[]> {
  writable(): Promise<NodeJS.WritableStream>;
}

export interface PostgresReserved {
  unsafe(text: string, values?: unknown[], options?: { prepare: boolean }): PostgresQuery;
  release(): void;
}

interface PostgresSql extends PostgresReserved {
  reserve(): Promise<PostgresReserved>;
  begin<T>(work: (transaction: PostgresReserved) => Promise<T>): Promise<T>;
  end(options?: { timeout: number }): Promise<void>;
}

type PostgresFactory = (url: string, options: Record<string, unknown>) => PostgresSql;

export async function loadPostgres(): Promise<PostgresFactory> {
  const packageName: string = "postgres";
  try {
    const loaded = (await import(packageName)) as { default: PostgresFactory };
    return loaded.default;
  } catch (cause) {
    throw new Error("postgres.js is not installed; run: npm install --no-save postgres@3.4.9", { cause });
  }
}

async function openPg(url: string, options: { pipeline: boolean }): Promise<Session> {
  const client = new pg.Client({ connectionString: url, pipeline: options.pipeline });
  client.on("error", () => {});
  await client.connect();
  return {
    query: async (statement) => (await client.query(statement)).rows as Row[],
    sendAll: (statements) => Promise.allSettled(statements.map((statement) => client.query(statement))),
    copyIn: (text, chunks) => pipeline(Readable.from(chunks), client.query(copyFrom(text))),
    close: () => client.end(),
  };
}

async function openPostgres(url: string): Promise<Session> {
  const postgres = await loadPostgres();
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  const reserved = await sql.reserve();
  const run = (statement: Statement) =>
    reserved.unsafe(statement.text, statement.values ?? [], { prepare: statement.name !== undefined });
  return {
    query: run,
    sendAll: (statements) => Promise.allSettled(statements.map(run)),
    copyIn: async (text, chunks) => pipeline(Readable.from(chunks), await reserved.unsafe(text).writable()),
    close: () => sql.end({ timeout: 5 }),
  };
}

export function open(driver: DriverName, url: string, options = { pipeline: false }): Promise<Session> {
  return driver === "pg" ? openPg(url, options) : openPostgres(url);
}
