import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Database, EmbeddedServer, migrate } from "../../src/database/index.ts";
import { setup, type TestContext } from "../../src/testing/index.ts";
import { administer } from "./roles.ts";

const binFolder = "/usr/lib/postgresql/15/bin";

/** Whether Debian's PostgreSQL 15 is installed here. */
export const hasPostgres15: boolean = existsSync(binFolder);

/** A PostgreSQL 15 of the tests' own. */
export interface Postgres15 extends AsyncDisposable {
  /** As `setup()`, but with a migrated database on this server. */
  setup(): Promise<TestContext>;
}

/** Starts a PostgreSQL 15 that nobody else uses. */
export async function startPostgres15(): Promise<Postgres15> {
  const folder = await mkdtemp(join(tmpdir(), "tallyman-15-"));
  await chmod(folder, 0o755); // started by root, the server runs as another user
  const settings = { fsync: "off", full_page_writes: "off", max_connections: "200" };
  const server = await EmbeddedServer.attach({ folder: join(folder, "postgres"), binFolder, settings });
  return {
    setup: () => setupOn(server),
    async [Symbol.asyncDispose]() {
      await server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function setupOn(server: EmbeddedServer): Promise<TestContext> {
  const t = await setup();
  const name = `test_${randomBytes(6).toString("hex")}`;
  await administer(server.url(), `CREATE DATABASE ${name}`);
  const own = new URL(server.url());
  own.pathname = `/${name}`;
  const url = own.toString();
  const database = t.use(await Database.connect({ url }));
  await migrate(database);
  const connect: TestContext["connect"] = async (more = {}) =>
    t.use(await Database.connect({ url, ...more }));
  return { ...t, url, database, connect };
}
