import { describe, expect, it } from "vitest";
import { Tallyman } from "../src/app/index.ts";
import { TallymanClient } from "../src/client/index.ts";
import { ensureRunSchema, migrate } from "../src/database/index.ts";
import { migrateSchema } from "../src/database/migrator.ts";
import { EnvironmentIndexer, reindex } from "../src/pipeline/index.ts";
import { createServer } from "../src/server/index.ts";
import { setup, type TestContext } from "../src/testing/index.ts";
import { PostgresTopics } from "../src/topics/index.ts";
import { runHere } from "./kit/cli.ts";
import { commands, openBus, startWorker, untilFinished } from "./kit/commands.ts";
import { command, openJobs, startCoordinator, startSchedulerWorker } from "./kit/jobs.ts";
import { lagOf, openPipeline, quick, runId, started, until } from "./kit/pipeline.ts";
import {
  administer,
  applyRoles,
  contextOf,
  createAdministrator,
  type DatabaseRole,
  ownSchema,
  urlOf,
} from "./kit/roles.ts";

const forbidden: readonly (readonly [DatabaseRole, string])[] = [
  ["app", "CREATE TABLE tallyman.mine ()"],
  ["app", "ALTER TABLE tallyman.command_bus_command ADD COLUMN mine int"],
  ["app", "DROP TABLE tallyman.topic_message"],
  ["app", "TRUNCATE tallyman.command_bus_command"],
  ["app", "DROP FUNCTION tallyman.scheduler_free_segments"],
  ["app", "DROP SCHEMA {schema} CASCADE"],
  ["app", "DELETE FROM tallyman.migration"],
  ["app", "CREATE SCHEMA mine"],
  ["app", "ALTER TABLE sim.environment_data ADD COLUMN mine int"],
  ["app", "DROP SCHEMA sim_run_1 CASCADE"],
  ["app", "SET ROLE {schema}_owner"],
  ["app", "SET ROLE {schema}_pipeline"],
  ["pipeline", "DROP TABLE tallyman.topic_message"],
  ["pipeline", "SET ROLE {schema}_owner"],
  ["read", "INSERT INTO tallyman.command_bus_domain (domain) VALUES ('mine')"],
  ["read", "UPDATE tallyman.scheduler_segment SET epoch = 0"],
  ["read", "DELETE FROM sim.environment_data"],
  ["read", "SELECT tallyman.command_bus_maintain(1, 1, 1)"],
  ["read", "SELECT nextval('tallyman.topic_claim_version')"],
  ["read", "SELECT FROM tallyman.access_token"],
  ["read", "SELECT FROM tallyman.idempotency_key"],
  ["read", "SET ROLE {schema}_app"],
];

/** A migrated database whose administrator has applied the printed roles. */
async function withRoles(t: TestContext): Promise<string> {
  const schema = ownSchema(t);
  await migrate(await t.connect({ schema }));
  await applyRoles(t.url, schema);
  return schema;
}

/** Indexes 100 ticks of a run with the pipeline's role. */
async function indexRun(t: TestContext, schema: string) {
  const asPipeline = await contextOf(t, schema, "pipeline");
  const pipeline = await openPipeline(asPipeline);
  await pipeline.writeMetadata(99);
  await pipeline.send(0, 50);
  await pipeline.send(50, 50);
  const indexer = new EnvironmentIndexer("env", await pipeline.resources("env"), quick);
  await started(asPipeline, indexer);
  await until("all is indexed", async () => (await lagOf(pipeline.topics, "env")) === 0);
  return { indexer, pipeline };
}

async function countCells(t: TestContext): Promise<number> {
  const { rows } = await t.database
    .forRun("sim_run_1")
    .query<{ cells: number }>("SELECT count(*)::int AS cells FROM sim.environment_data");
  return rows[0]?.cells ?? 0;
}

describe("the printed database roles", () => {
  it("let the application's role send, handle, coordinate, schedule and serve", async () => {
    await using t = await setup({ empty: true });
    const schema = await withRoles(t);
    const asApp = await contextOf(t, schema, "app");
    const bus = openBus(asApp);
    await startWorker(asApp, bus, { T: ({ data }) => data });
    const batchId = await bus.createBatch("d", commands(20));
    expect(await untilFinished(bus, batchId)).toMatchObject({ status: "COMPLETED", completedCount: 20 });

    await startCoordinator(asApp);
    const { jobs } = openJobs(asApp);
    await startSchedulerWorker(asApp, bus);
    await jobs.create("once", { schedule: { at: new Date() }, command });
    await until("the job has fired", async () => (await jobs.get("once"))?.fireCount === 1);

    const server = t.use(createServer(await open(t, schema), { port: 0 }));
    await server.start();
    const client = new TallymanClient({ url: server.url });
    expect(await client.call("GET /api/batches")).toMatchObject({ items: [{ batchId }] });
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
  });

  it("let the pipeline's role make and index runs, and the application's read and empty them", async () => {
    await using t = await setup({ empty: true });
    const schema = await withRoles(t);
    const { indexer, pipeline } = await indexRun(t, schema);
    const asApp = await contextOf(t, schema, "app");
    expect(await countCells(asApp)).toBe(100);

    const server = t.use(createServer(await open(t, schema), { port: 0 }));
    await server.start();
    const client = new TallymanClient({ url: server.url });
    const world = await client.call("GET /api/runs/:runId/environment", {
      params: { runId },
      query: { tick: 50 },
    });
    expect(world).toMatchObject({ cells: [{ value: 50 }] });
    await indexer.stop();
    const topics = t.use(new PostgresTopics(asApp.database));
    await reindex(asApp.database, topics, { runId, indexerClass: "EnvironmentIndexer" });
    expect(await countCells(asApp)).toBe(0);
    await pipeline.topics.seekGroup("batch-topic", "env", "beginning");
    await indexer.start();
    await until("all is indexed again", async () => (await countCells(asApp)) === 100);
  });

  it("let nobody do what is not theirs", async () => {
    await using t = await setup({ empty: true });
    const schema = await withRoles(t);
    await ensureRunSchema((await contextOf(t, schema, "pipeline")).database, runId);
    for (const [role, text] of forbidden) {
      const { database } = await contextOf(t, schema, role);
      const statement = text.replaceAll("{schema}", schema);
      const outcome = await database
        .forRun("sim_run_1")
        .query(statement)
        .catch((error) => error.code);
      expect({ role, statement, outcome }).toMatchObject({ role, statement, outcome: "42501" });
    }
  });

  it("let the reading role look at platform and runs", async () => {
    await using t = await setup({ empty: true });
    const schema = await withRoles(t);
    await indexRun(t, schema);
    const asReader = await contextOf(t, schema, "read");
    expect(await countCells(asReader)).toBe(100);
    const { rows } = await asReader.database.query("SELECT run_id FROM tallyman.simulation_run");
    expect(rows).toEqual([{ run_id: runId }]);
  });

  it("let the owner migrate, and the application use what a migration adds", async () => {
    await using t = await setup({ empty: true });
    const schema = await withRoles(t);
    const { database: asOwner } = await contextOf(t, schema, "owner");
    const later = {
      version: 900,
      name: "900-later",
      minCodeVersion: 0,
      text: "CREATE TABLE tallyman.later (n int GENERATED ALWAYS AS IDENTITY); CREATE SEQUENCE tallyman.later_number",
    };
    expect(await migrate(asOwner)).toMatchObject({ applied: [] });
    expect(await migrateSchema(asOwner, { schema, placeholder: "tallyman" }, [later])).toMatchObject({
      applied: ["900-later"],
    });
    const { database: asApp } = await contextOf(t, schema, "app");
    await asApp.query("INSERT INTO tallyman.later DEFAULT VALUES");
    await asApp.query("SELECT nextval('tallyman.later_number')");
    await expect(asApp.query("DROP TABLE tallyman.later")).rejects.toMatchObject({ code: "42501" });
  });

  it("take over runs that were there before, and may be applied first, and again", async () => {
    await using t = await setup({ empty: true });
    const schema = ownSchema(t);
    await applyRoles(t.url, schema);
    const { database: asOwner } = await contextOf(t, schema, "owner");
    await migrate(asOwner);
    await ensureRunSchema(await t.connect({ schema }), runId);
    await expect(indexRun(t, schema)).rejects.toMatchObject({ code: "42501" });
    await applyRoles(t.url, schema);
    await indexRun(t, schema);
    expect(await countCells(await contextOf(t, schema, "app"))).toBe(100);
  });

  it("can be made by an administrator who is no superuser, and leave that one no member", async () => {
    await using t = await setup({ empty: true });
    const schema = ownSchema(t);
    const url = await createAdministrator(t, schema);
    await migrate(await t.connect({ url, schema }));
    await applyRoles(url, schema);
    await applyRoles(url, schema);
    await indexRun(t, schema);
    const asOwner = administer(url, `SET ROLE ${schema}_owner`);
    await expect(asOwner).rejects.toMatchObject({ code: "42501" });
  });

  it("are needed: an application that may not migrate is told who does", async () => {
    await using t = await setup({ empty: true });
    const schema = ownSchema(t);
    await applyRoles(t.url, schema);
    await expect(open(t, schema)).rejects.toMatchObject({
      code: "MIGRATION_FAILED",
      message: expect.stringMatching(/permission denied.*print-roles/s),
    });
  });
});

describe("tallyman migrate --print-roles", () => {
  it("prints them for the configured schema, without a database", async () => {
    const nowhere = ["--database-url", "postgres://127.0.0.1:1/nowhere"];
    const { code, text } = await runHere("migrate", "--print-roles", "--schema", "crew", ...nowhere);
    expect(code).toBe(0);
    expect(text).toContain(`"crew_pipeline"`);
    expect(text).not.toContain(`"tallyman`);
    const json = await runHere("migrate", "--print-roles", "--schema", "crew", "--json", ...nowhere);
    expect(JSON.parse(json.text).sql.trimEnd()).toBe(text);
  });

  it("refuses a schema whose name leaves no room for the roles'", async () => {
    const { code, errors } = await runHere("migrate", "--print-roles", "--schema", "x".repeat(60));
    expect({ code, errors }).toMatchObject({ code: 2, errors: expect.stringContaining("INVALID_OPTION") });
  });
});

async function open(t: TestContext, schema: string): Promise<Tallyman> {
  return t.use(await Tallyman.connect({ database: { url: urlOf(t, schema, "app"), schema } }));
}
