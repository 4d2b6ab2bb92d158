import { createHash } from "node:crypto";
import pg from "pg";
import { Database, EmbeddedServer, migrate, quoteIdentifier, readMigrations } from "../database/index.ts";
import { sleep } from "../runtime/index.ts";

/** Tests kill processes, not machines: the operating system's cache is durable enough, and fast. */
const testSettings = { fsync: "off", full_page_writes: "off", max_connections: "400" };
const serverFolder = ".tallyman/test-postgres";

/** A PostgreSQL for tests, with a migrated template that each test's database is cloned from. */
export interface TestServer {
  readonly template: string;
  /** Connection string of one of its databases. */
  url(database: string): string;
  /** Runs one statement outside of any test's database. */
  admin(text: string): Promise<void>;
  close(): Promise<void>;
}

let shared: Promise<TestServer> | undefined;

/** The server that all tests of this process share: `TALLYMAN_TEST_URL`, or an embedded one. */
export function testServer(): Promise<TestServer> {
  shared ??= openTestServer();
  return shared;
}

async function openTestServer(): Promise<TestServer> {
  const given = process.env.TALLYMAN_TEST_URL;
  const embedded = given === undefined ? await attachServer() : undefined;
  const url = withDatabase(given ?? embedded?.url() ?? "");
  const template = await ensureTemplate(url);
  return {
    template,
    url,
    admin: (text) => runAs(url("postgres"), text),
    close: async () => {
      if (embedded) await untilAlone(url("postgres"));
      await embedded?.close();
    },
  };
}

/** A runner's workers die a moment after their tests; only the last one out stops the server. */
const workersLeaveMs = 5_000;

async function untilAlone(url: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    const deadline = performance.now() + workersLeaveMs;
    while (performance.now() < deadline) {
      const { rowCount } = await client.query(
        "SELECT FROM pg_stat_activity WHERE application_name LIKE 'tallyman attached %'",
      );
      if ((rowCount ?? 0) <= 1) return;
      await sleep(20);
    }
  } finally {
    await client.end();
  }
}

async function attachServer(): Promise<EmbeddedServer> {
  const server = await EmbeddedServer.attach({ folder: serverFolder, settings: testSettings });
  server.unref();
  process.once("beforeExit", () => void server.close());
  return server;
}

function withDatabase(url: string): (database: string) => string {
  return (database) => {
    const changed = new URL(url);
    changed.pathname = `/${database}`;
    return changed.toString();
  };
}

/** One template per set of migrations: a changed migration never meets an old template. */
async function ensureTemplate(url: (database: string) => string): Promise<string> {
  const hash = createHash("sha256");
  for (const migration of await readMigrations("platform")) hash.update(migration.text);
  const template = `tallyman_template_${hash.digest("hex").slice(0, 12)}`;
  const client = new pg.Client(url("postgres"));
  await client.connect();
  try {
    await client.query("SELECT pg_advisory_lock(hashtextextended($1, 0))", [template]);
    const { rowCount } = await client.query("SELECT FROM pg_database WHERE datname = $1 AND datistemplate", [
      template,
    ]);
    if (rowCount === 0) await createTemplate(client, template, url(template));
  } finally {
    await client.end();
  }
  return template;
}

async function createTemplate(client: pg.Client, template: string, url: string): Promise<void> {
  await client.query(`DROP DATABASE IF EXISTS ${quoteIdentifier(template)}`);
  await client.query(`CREATE DATABASE ${quoteIdentifier(template)}`);
  const database = await Database.connect({ url, listenUrl: null });
  await migrate(database);
  await database.close();
  await client.query(`ALTER DATABASE ${quoteIdentifier(template)} IS_TEMPLATE true`);
}

async function runAs(url: string, text: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}
