import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ensureRunSchema, schemaSnapshot } from "../src/database/index.ts";
import { EnvironmentIndexer } from "../src/pipeline/index.ts";
import { type TopicHarness, topicConformance } from "../src/testing/index.ts";
import { PostgresTopics } from "../src/topics/index.ts";
import { commands, openBus, startWorker, untilFinished } from "./kit/commands.ts";
import { accountForFires, command, openJobs, startCoordinator, startSchedulerWorker } from "./kit/jobs.ts";
import { ledger, openPipeline, quick, started, until } from "./kit/pipeline.ts";
import { hasPostgres15, type Postgres15, startPostgres15 } from "./kit/postgres-15.ts";
import { applyRoles, contextOf, createAdministrator, ownSchema } from "./kit/roles.ts";

const capabilities = {
  transactionalAck: true,
  fencedAck: true,
  unboundedIdempotency: true,
  retentionSparesUnacknowledged: true,
  redriveKeepsPosition: true,
};
/** A smoke test; the whole load runs on 18. */
const messages = 1_000;

describe.skipIf(!hasPostgres15)("PostgreSQL 15 (skipped without Debian's postgresql-15)", () => {
  let server: Postgres15;
  beforeAll(async () => {
    server = await startPostgres15();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it("takes the same migrations and ends with the same schema as 18", async () => {
    await using t = await server.setup();
    const { rows } = await t.database.query(
      "SELECT current_setting('server_version_num')::int / 10000 AS major",
    );
    expect(rows).toEqual([{ major: 15 }]);
    const run = await ensureRunSchema(t.database, "run");
    const committed = await readFile(new URL("../sql/schema.sql", import.meta.url), "utf8");
    expect(committed).toContain(await schemaSnapshot(t.database, "tallyman", "tallyman"));
    expect(committed).toContain(await schemaSnapshot(t.database, run, "sim"));
  });

  it("carries commands and batches", async () => {
    await using t = await server.setup();
    const bus = openBus(t);
    await startWorker(t, bus, { T: ({ data }) => data });
    const batchId = await bus.createBatch("d", commands(500));
    expect(await untilFinished(bus, batchId)).toMatchObject({ status: "COMPLETED", completedCount: 500 });
  });

  it("carries the scheduler: a leader, segments, and each fire once", async () => {
    await using t = await server.setup();
    const { bus, jobs } = openJobs(t);
    await startCoordinator(t);
    await startSchedulerWorker(t, bus);
    await jobs.create("often", { schedule: { everyMs: 100 }, command });
    await until("it has fired a few times", async () => ((await jobs.get("often"))?.fireCount ?? 0) >= 5);
    await jobs.pause("often");
    expect(await accountForFires(t.database)).toBeGreaterThanOrEqual(5);
  });

  it("carries an indexer", async () => {
    await using t = await server.setup();
    const pipeline = await openPipeline(t);
    await pipeline.writeMetadata(99);
    for (const start of [0, 50]) await pipeline.send(start, 50);
    await started(t, new EnvironmentIndexer("env", await pipeline.resources("env"), quick));
    const done = { 0: "completed 50", 50: "completed 50" };
    const isDone = async () => JSON.stringify(await ledger(t, "EnvironmentIndexer")) === JSON.stringify(done);
    await until("all is indexed", isDone);
  });

  it("takes the printed roles, also from an administrator who is no superuser", async () => {
    await using t = await server.setup();
    const schema = ownSchema(t);
    await applyRoles(await createAdministrator(t, schema), schema);
    const { database: asOwner } = await contextOf(t, schema, "owner");
    await asOwner.query("CREATE TABLE tallyman.mine ()");
    const { database: asApp } = await contextOf(t, schema, "app");
    await asApp.query("INSERT INTO tallyman.mine DEFAULT VALUES");
    await expect(asApp.query("DROP TABLE tallyman.mine")).rejects.toMatchObject({ code: "42501" });
  });

  const open = async (): Promise<TopicHarness> => {
    const t = await server.setup();
    const connect = async () => t.use(new PostgresTopics(await t.connect({ poolMax: 4 })));
    return {
      topics: await connect(),
      connect,
      transaction: (work) => t.database.transaction(work),
      [Symbol.asyncDispose]: () => t[Symbol.asyncDispose](),
    };
  };
  for (const { name, isSkipped, run } of topicConformance({ open, capabilities, canCrash: false, messages }))
    it.skipIf(isSkipped)(`carries topics: ${name}`, run);
});
