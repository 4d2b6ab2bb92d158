import { join } from "node:path";
import { Database, EmbeddedServer, migrate } from "../../src/database/index.ts";
import { sleep } from "../../src/runtime/index.ts";
import type { TestContext } from "../../src/testing/index.ts";

/** A migrated PostgreSQL of the test's own, which it may crash; children attach to it by its folder. */
export async function crashableServer(t: TestContext): Promise<{ database: Database; folder: string }> {
  t.logs.expectLog({
    logger: "database.embedded",
    level: "warn",
    message: "Lost the embedded PostgreSQL, attaching again",
  });
  const folder = join(await t.temporaryFolder(), "postgres");
  const settings = { fsync: "off", full_page_writes: "off", max_connections: "200" };
  const server = t.use(await EmbeddedServer.attach({ folder, settings }));
  const database = t.use(await Database.connect({ url: server.url(), listenUrl: null }, server));
  await migrate(database);
  return { database, folder: server.folder };
}

/** A small generator of repeatable numbers in [0, 1). */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A query that waits for the server to come back. */
export async function persist<T>(query: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await query();
    } catch (error) {
      if ((error as Error).name === "AssertionError") throw error;
      await sleep(200);
    }
  }
}
