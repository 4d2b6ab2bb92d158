import { randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { chmod, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { Database, type DatabaseOptions, quoteIdentifier } from "../database/index.ts";
import { runningServices, sleep } from "../runtime/index.ts";
import { LogCapture } from "./log-capture.ts";
import { type TestServer, testServer } from "./test-server.ts";

/** A server process outlives its connection by a moment. */
const leakWaitMs = 10_000;
const leakPollMs = 20;
const temporaryPrefix = `tallyman-${process.pid}-`;
/** What an earlier process of this id has left: killed ones do, and ids come again. */
const inheritedFolders: ReadonlySet<string> = new Set(readdirSync(tmpdir()));

/**
 * Everything one test needs, and the checks that it left nothing behind.
 *
 * @example
 * ```ts
 * it("warns once", async () => {
 *   await using t = await setup();
 *   t.logs.expectLog({ logger: "commands.worker", level: "warn", message: "Command * failed" });
 *   await t.database.query("SELECT 1");
 * });
 * ```
 */
export interface TestContext extends AsyncDisposable {
  /** A pool on this test's own database, migrated and empty. */
  readonly database: Database;
  /** Connection string of that database, for child processes. */
  readonly url: string;
  /** Warnings and errors that the test expects; any other fails it. */
  readonly logs: LogCapture;
  /** A further pool on the same database; closed at the end. */
  connect(options?: Partial<DatabaseOptions>): Promise<Database>;
  /** An empty folder; deleted at the end. */
  temporaryFolder(): Promise<string>;
  /** Disposes of `resource` at the end, the latest first. */
  use<T extends AsyncDisposable>(resource: T): T;
}

/** How a test's context differs from the usual. */
export interface SetupOptions {
  /** Start from an empty database instead of a migrated one. Default false. */
  readonly empty?: boolean;
}

/**
 * Opens a test's context: a database cloned from the migrated template. Disposing of it stops what the
 * test used, then fails the test on a connection, service or temporary folder that is left, and on a
 * warning or error in the log that it did not expect.
 */
export async function setup(options: SetupOptions = {}): Promise<TestContext> {
  const server = await testServer();
  const name = `test_${process.pid}_${randomBytes(6).toString("hex")}`;
  const template = options.empty ? "template0" : server.template;
  await server.admin(`CREATE DATABASE ${quoteIdentifier(name)} TEMPLATE ${quoteIdentifier(template)}`);
  const logs = new LogCapture();
  const url = server.url(name);
  const disposers: (() => PromiseLike<unknown>)[] = [];
  const use = <T extends AsyncDisposable>(resource: T): T => {
    disposers.push(() => resource[Symbol.asyncDispose]());
    return resource;
  };
  const connect = async (more: Partial<DatabaseOptions> = {}) =>
    use(await Database.connect({ url, ...more }));
  const temporaryFolder = async () => {
    const folder = await mkdtemp(join(tmpdir(), temporaryPrefix));
    await chmod(folder, 0o755); // an embedded server started by root runs as another user
    disposers.push(() => rm(folder, { recursive: true, force: true }));
    return folder;
  };
  const database = await connect();
  const dispose = async () => {
    try {
      for (const disposer of disposers.toReversed()) await disposer();
    } finally {
      await failOnLeftovers(server, name, logs);
    }
  };
  return { database, url, logs, connect, temporaryFolder, use, [Symbol.asyncDispose]: dispose };
}

async function failOnLeftovers(server: TestServer, name: string, logs: LogCapture): Promise<void> {
  const left = [
    ...(await leakedConnections(server.url(name))),
    ...[...runningServices()].map((service) => `service ${service.name} still runs`),
    ...(await leakedFolders()),
  ];
  await server.admin(`DROP DATABASE ${quoteIdentifier(name)} WITH (FORCE)`);
  logs[Symbol.dispose]();
  logs.verify();
  if (left.length > 0) throw new Error(`The test left behind: ${left.join("; ")}`);
}

async function leakedConnections(url: string): Promise<string[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    const deadline = performance.now() + leakWaitMs;
    for (;;) {
      const { rows } = await client.query<{ text: string }>(
        `SELECT format('connection "%s" (%s: %s)', application_name, state, left(query, 80)) AS text
         FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`,
      );
      if (rows.length === 0 || performance.now() > deadline) return rows.map((row) => row.text);
      await sleep(leakPollMs);
    }
  } finally {
    await client.end();
  }
}

async function leakedFolders(): Promise<string[]> {
  const entries = await readdir(tmpdir());
  return entries
    .filter((entry) => entry.startsWith(temporaryPrefix) && !inheritedFolders.has(entry))
    .map((entry) => `temporary folder ${entry}`);
}
