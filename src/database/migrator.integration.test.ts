import { describe, expect, it } from "vitest";
import { startChild } from "../../tests/kit/children.ts";
import { Tallyman } from "../app/index.ts";
import { setup } from "../testing/index.ts";
import { Database, ensureRunSchema, migrate, readMigrations, runSchemaName } from "./index.ts";
import { refuseAmbiguity } from "./migrations.ts";
import { migrateSchema } from "./migrator.ts";
import { lockMigrations } from "./sql/migration.ts";
import { registeredRuns, registerRun } from "./sql/simulation-run.ts";

const platform = { schema: "tallyman", placeholder: "tallyman" } as const;

async function waitingForLocks(database: Database): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    `SELECT count(*)::integer AS count FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  );
  return rows[0]?.count ?? 0;
}

describe("migrate", () => {
  it("applies every migration once, and reports without applying on a dry run", async () => {
    await using t = await setup({ empty: true });
    const names = (await readMigrations("platform")).map((migration) => migration.name);
    expect(await migrate(t.database, { dryRun: true })).toMatchObject({ applied: [], pending: names });
    expect(await migrate(t.database)).toMatchObject({ applied: names, pending: [] });
    expect(await migrate(t.database)).toMatchObject({ applied: [], pending: [] });
  });

  it("is safe when ten processes migrate at once: each migration is applied by exactly one", async () => {
    await using t = await setup({ empty: true });
    const script = new URL("../../tests/children/migrate.child.ts", import.meta.url);
    const children = Array.from({ length: 10 }, () => startChild(script, { env: { DATABASE_URL: t.url } }));
    const exits = await Promise.all(children.map((child) => child.exit));
    expect(exits).toEqual(exits.map(() => ({ code: 0, signal: null })));
    const applied = children.flatMap((child) => JSON.parse(child.lines.at(-1) ?? "[]") as string[]);
    expect(applied.toSorted()).toEqual((await readMigrations("platform")).map((migration) => migration.name));
  }, 180_000);

  it("finds the schema that another process made while it waited for that one", async () => {
    await using t = await setup();
    const waiting = t.use(await Database.connect({ url: t.url, poolMax: 1 }));
    const schema = runSchemaName("late");
    // From its first DDL on a backend trusts what it remembers, here that there is no such schema.
    await ensureRunSchema(waiting, "early");
    await waiting.query(`SELECT to_regclass('${schema}.migration')`);
    let ensuring: Promise<string> | undefined;
    await t.database.transaction(async (tx) => {
      await lockMigrations(tx, { schema, placeholder: "sim" });
      await tx.query(`CREATE SCHEMA ${schema}`);
      ensuring = ensureRunSchema(waiting, "late");
      await expect.poll(() => waitingForLocks(t.database), { timeout: 20_000 }).toBe(1);
    });
    expect(await ensuring).toBe(schema);
  });

  it("rolls a failing migration back whole and says which one and why", async () => {
    await using t = await setup();
    const broken = {
      version: 900,
      name: "900-broken",
      minCodeVersion: 0,
      text: "CREATE TABLE tallyman.half (); SELECT 1/0",
    };
    await expect(migrateSchema(t.database, platform, [broken])).rejects.toMatchObject({
      code: "MIGRATION_FAILED",
      message: expect.stringMatching(/900-broken.*division by zero/),
    });
    const { rows } = await t.database.query("SELECT to_regclass('tallyman.half') AS found");
    expect(rows).toEqual([{ found: null }]);
  });

  it("works with a newer database unless that says it needs a newer program", async () => {
    await using t = await setup();
    await t.database.query(
      "INSERT INTO tallyman.migration (version, name, min_code_version) VALUES (998, '998-later', 1)",
    );
    expect(await migrate(t.database)).toMatchObject({ pending: [] });
    await t.database.query(
      "INSERT INTO tallyman.migration (version, name, min_code_version) VALUES (999, '999-breaking', 999)",
    );
    await expect(migrate(t.database)).rejects.toMatchObject({
      code: "DATABASE_TOO_NEW",
      details: { needed: 999 },
    });
  });

  it("refuses two migrations with one number, and a file that is not named like one", () => {
    const migration = (version: number, name: string) => ({ version, name, text: "", minCodeVersion: 0 });
    expect(() => refuseAmbiguity([migration(1, "001-a"), migration(1, "001-b")])).toThrow(
      /number 1 is used twice/,
    );
    expect(() => refuseAmbiguity([migration(Number.NaN, "01_a")])).toThrow(/not named like/);
  });

  it("is refused as pending when it may not be applied", async () => {
    await using t = await setup({ empty: true });
    const opening = Tallyman.connect({ database: t.url, migrate: false });
    await expect(opening).rejects.toMatchObject({
      code: "MIGRATION_PENDING",
      details: { pending: expect.arrayContaining(["001-foundation"]) },
    });
  });

  it("uses the configured schema", async () => {
    await using t = await setup({ empty: true });
    const database = await t.connect({ schema: "crew" });
    await migrate(database);
    const { rows } = await database.query(
      "SELECT to_regclass('crew.simulation_run')::text AS found, to_regnamespace('tallyman') AS other",
    );
    expect(rows).toEqual([{ found: "crew.simulation_run", other: null }]);
  });
});

describe("run schemas", () => {
  it("enters a run once, however many enter it at the same moment", async () => {
    await using t = await setup();
    const database = await t.connect({ poolMax: 20 });
    const runIds = Array.from({ length: 100 }, (_, index) => `run-${index}`);
    for (const runId of runIds)
      await Promise.all(Array.from({ length: 20 }, () => registerRun(database, runId, runSchemaName(runId))));
    expect((await registeredRuns(database)).map((run) => run.runId)).toEqual(runIds);
  });

  it("are made once, whoever asks, and entered in the register", async () => {
    await using t = await setup();
    const pools = await Promise.all(Array.from({ length: 10 }, () => t.connect({ poolMax: 2 })));
    const schemas = await Promise.all(pools.map((pool) => ensureRunSchema(pool, "20251006-run")));
    expect(new Set(schemas)).toEqual(new Set(["sim_20251006_run"]));
    await t.database.forRun("sim_20251006_run").query("INSERT INTO sim.metadata VALUES ('k', '1')");
    const { rows } = await t.database.query("SELECT run_id, schema_name FROM tallyman.simulation_run");
    expect(rows).toEqual([{ run_id: "20251006-run", schema_name: "sim_20251006_run" }]);
  });

  it("refuse hostile ids before any statement", async () => {
    await using t = await setup();
    for (const runId of ['x"; DROP SCHEMA tallyman; --', "../etc", "", "a".repeat(101), "ä", "x\0y", "-x"]) {
      await expect(ensureRunSchema(t.database, runId)).rejects.toMatchObject({ code: "RUN_ID_INVALID" });
    }
  });

  it("give different runs different names, within PostgreSQL's limit", () => {
    const ids = [
      "a-b",
      "a_b",
      "A-b",
      "A-B",
      "a".repeat(100),
      `${"a".repeat(99)}b`,
      "20251006143025-550e8400-e29b-41d4-a716-446655440000",
    ];
    const names = ids.map(runSchemaName);
    expect(new Set(names).size).toBe(ids.length);
    for (const name of names) expect(name).toMatch(/^simh?_[a-z0-9_]{1,58}$/);
  });
});
