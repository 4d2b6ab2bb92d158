import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Database, EmbeddedServer, ensureRunSchema, migrate, schemaSnapshot } from "../src/database/index.ts";
import { setup } from "../src/testing/index.ts";

const binFolder = "/usr/lib/postgresql/15/bin";

describe.skipIf(!existsSync(binFolder))("PostgreSQL 15 (needs Debian's postgresql-15)", () => {
  it("takes the same migrations and ends with the same schema as 18", async () => {
    await using t = await setup();
    const folder = join(await t.temporaryFolder(), "postgres");
    const server = t.use(await EmbeddedServer.attach({ folder, binFolder, settings: { fsync: "off" } }));
    const database = t.use(await Database.connect({ url: server.url() }, server));
    await migrate(database);
    const run = await ensureRunSchema(database, "run");
    const committed = await readFile(new URL("../sql/schema.sql", import.meta.url), "utf8");
    expect(committed).toContain(await schemaSnapshot(database, "tallyman", "tallyman"));
    expect(committed).toContain(await schemaSnapshot(database, run, "sim"));
  });
});
