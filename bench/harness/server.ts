import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Database, EmbeddedServer, migrate } from "../../src/database/index.ts";

/** A fresh PostgreSQL for one benchmark: everything durable, as in production. */
export interface BenchServer extends AsyncDisposable {
  readonly url: string;
  readonly database: Database;
  /** An empty database beside; disposing of it drops it, whoever is connected. */
  freshDatabase(name: string): Promise<AsyncDisposable & { readonly url: string }>;
}

/** What is stated with every figure. */
export const benchSettings = {
  synchronous_commit: "on",
  fsync: "on",
  shared_buffers: "512MB",
  max_wal_size: "4GB",
};

/** Starts an embedded server in a folder of its own; disposing of it deletes the folder. */
export async function startBenchServer(poolMax = 16): Promise<BenchServer> {
  const folder = await mkdtemp(join(tmpdir(), "tallyman-bench-"));
  await chmod(folder, 0o755);
  const server = await EmbeddedServer.attach({ folder: join(folder, "postgres"), settings: benchSettings });
  const database = await Database.connect({ url: server.url(), poolMax }, server);
  await migrate(database);
  return {
    url: server.url(),
    database,
    async freshDatabase(name) {
      await database.query(`CREATE DATABASE ${name}`);
      return {
        url: server.url(name),
        async [Symbol.asyncDispose]() {
          await database.query(`DROP DATABASE ${name} WITH (FORCE)`);
        },
      };
    },
    async [Symbol.asyncDispose]() {
      await database.close();
      await server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
