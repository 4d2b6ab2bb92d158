import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { doctor, ServiceControl, Tallyman } from "../src/app/index.ts";
import { BatchInfoSchema, SimulationMetadataSchema } from "../src/contracts/index.ts";
import { createBatchCoordinator, MetadataReader } from "../src/coordination/index.ts";
import { readMigrations } from "../src/database/index.ts";
import { DummyIndexer, EnvironmentIndexer } from "../src/pipeline/index.ts";
import { codecNames } from "../src/storage/block-codec.ts";
import { formatVersion, versionOf } from "../src/storage/file-format.ts";
import { metadataKey } from "../src/storage/index.ts";
import { setup, type TestContext } from "../src/testing/index.ts";
import { openBus, startWorker, untilFinished, untilStatus } from "./kit/commands.ts";
import { openJobs, startCoordinator, startSchedulerWorker } from "./kit/jobs.ts";
import { ledger, quick, range, runId, started, tick, until } from "./kit/pipeline.ts";
import { migrateWithData, missingFixtures, oldStorage } from "./kit/upgrade.ts";

const platform = await readMigrations("platform");
const run = await readMigrations("run");
const idOf = (end: string) => `00000000-0000-4000-8000-${end.padStart(12, "0")}`;
const oldToken = `tm_0123456789ab_${"A".repeat(43)}`;

/** What a level's data must come to: asked of every database that had reached it. */
const promises: Readonly<Record<number, (tallyman: Tallyman, t: TestContext) => Promise<void>>> = {
  2: messagesAreConsumed,
  3: commandsAreDone,
  4: segmentsAreShared,
  5: jobsFire,
  6: servicesAreShown,
  8: tokensAreGood,
  9: batchEndsWithoutCompletion,
  10: carefulJobFires,
};

describe("a database that was left at", () => {
  it("every level has data to be tried with", () => {
    expect([...missingFixtures("platform", platform), ...missingFixtures("run", run)]).toEqual([]);
  });

  it.each(platform.map(({ name, version }) => [name, version] as const))("%s goes on", async (_, level) => {
    await using t = await setup({ empty: true });
    await migrateWithData(
      t.database,
      "platform",
      platform.filter(({ version }) => version <= level),
    );
    await migrateWithData(t.database, "run", run);
    const tallyman = t.use(await Tallyman.connect({ database: t.url }));
    for (const [version, keep] of Object.entries(promises))
      if (Number(version) <= level) await keep(tallyman, t);
    await expectRunGoesOn(t);
    const { findings } = await doctor(tallyman);
    expect(findings.filter(({ status }) => status === "failure")).toEqual([]);
  });

  it.each(run.map(({ name, version }) => [name, version] as const))("run/%s goes on", async (_, level) => {
    await using t = await setup({ empty: true });
    await migrateWithData(t.database, "platform", platform);
    await migrateWithData(
      t.database,
      "run",
      run.filter(({ version }) => version <= level),
    );
    await expectRunGoesOn(t);
  });
});

describe("batch files of every version", () => {
  it("and every codec that ever was are there, and read", async () => {
    await using t = await setup();
    const storage = await oldStorage(t);
    const { files } = await storage.listBatchFiles(runId, undefined, 100);
    expect(new Set(files.map(({ codec }) => codec))).toEqual(new Set(codecNames));
    const beginnings = await Promise.all(files.map(({ key }) => readFile(join(storage.place, key))));
    expect(new Set(beginnings.map(versionOf))).toEqual(new Set(range(1, formatVersion)));
    const ticks = (await Promise.all(files.map(({ key }) => storage.readBatch(key)))).flat();
    expect(ticks).toEqual(range(0, 30).map(tick));
    const metadata = await storage.readMessage(metadataKey(runId), SimulationMetadataSchema);
    expect(metadata).toMatchObject({ simulationRunId: runId, declaredEndTick: 29n });
  });
});

async function messagesAreConsumed({ topics }: Tallyman): Promise<void> {
  expect(await topics.redrive("orders")).toBe(1);
  await using reader = await topics.reader(BatchInfoSchema, { topic: "orders", group: "g" });
  const messages = await reader.pollMany(10, 0);
  expect(messages.map(({ key }) => key)).toEqual(["ready", "claimed", "delayed", "dead"]);
  expect(messages.map(({ payload }) => payload.simulationRunId)).toEqual(Array(4).fill(runId));
  await reader.ack(messages);
  const writer = await topics.writer(BatchInfoSchema, { topic: "orders" });
  expect(await writer.send(messages[0]?.payload ?? expect.fail("no message"), { key: "ready" })).toBe(
    "duplicate",
  );
}

async function commandsAreDone(_: Tallyman, t: TestContext): Promise<void> {
  const bus = openBus(t);
  await startWorker(t, bus, { T: ({ data }) => data });
  for (const end of ["1", "4", "5"]) await untilStatus(bus, idOf(end), "COMPLETED");
  expect(await untilFinished(bus, idOf("a"))).toMatchObject({ status: "COMPLETED", completedCount: 3 });
  expect(await bus.tsq.retry({ matching: { domain: "d" } }, { operator: "mia" })).toBe(1);
  await untilStatus(bus, idOf("2"), "COMPLETED");
  expect(await bus.getCommand("d", idOf("3"))).toMatchObject({ status: "COMPLETED", result: { n: 3 } });
  const halfCanceled = await untilFinished(bus, idOf("b"));
  expect(halfCanceled).toMatchObject({ status: "COMPLETED_WITH_FAILURES", canceledCount: 2 });
}

async function batchEndsWithoutCompletion(_: Tallyman, t: TestContext): Promise<void> {
  expect(await untilFinished(openBus(t), idOf("1a"))).toMatchObject({ completedCount: 1 });
}

async function segmentsAreShared({ scheduler }: Tallyman, t: TestContext): Promise<void> {
  const { bus } = openJobs(t);
  await startCoordinator(t);
  await startSchedulerWorker(t, bus, { workerId: "new-worker" });
  await until("every segment is the new worker's", async () => {
    const segments = await scheduler.fleet.segmentMap();
    return segments.length === 100 && segments.every(({ workerId }) => workerId === "new-worker");
  });
  const { rows } = await t.database.query("SELECT epoch FROM tallyman.scheduler_leader_lease");
  expect(rows).toEqual([{ epoch: 8 }]);
}

async function jobsFire({ scheduler: { jobs } }: Tallyman): Promise<void> {
  await until("the late job has fired", async () => (await jobs.get("hourly"))?.fireCount === 24);
  await jobs.resume("parked");
  await until("the parked job has fired", async () => (await jobs.get("parked"))?.fireCount === 24);
}

async function carefulJobFires({ scheduler: { jobs } }: Tallyman): Promise<void> {
  await until(
    "the job that avoids overlaps has fired",
    async () => (await jobs.get("careful"))?.fireCount === 24,
  );
}

async function servicesAreShown({ database }: Tallyman): Promise<void> {
  expect(await new ServiceControl(database).list()).toMatchObject([
    { name: "old-host-4711", isLost: true, services: [{ name: "env", state: "RUNNING" }] },
  ]);
}

async function tokensAreGood({ tokens }: Tallyman): Promise<void> {
  expect(await tokens.authenticate(oldToken)).toMatchObject({ actor: "ops", role: "admin" });
}

/** Two indexers take the run up where they left it, or from its beginning, and every tick is there once. */
async function expectRunGoesOn(t: TestContext): Promise<void> {
  const storage = await oldStorage(t);
  const tallyman = t.use(await Tallyman.connect({ database: t.url }));
  const resources = async (group: string) => ({
    storage,
    database: t.database,
    topic: await tallyman.topics.reader(BatchInfoSchema, { topic: "batch-topic", group }),
    coordinator: createBatchCoordinator(t.database),
  });
  const environment = new EnvironmentIndexer("env", await resources("env"), quick);
  const dummy = new DummyIndexer("dummy", await resources("dummy"), quick);
  for (const indexer of [environment, dummy]) await started(t, indexer);
  await until("the run's schema is of today", async () => {
    const { rows } = await t.database.query("SELECT max(version) AS level FROM sim_run_1.migration");
    return rows[0]?.level === run.at(-1)?.version;
  });
  const done = { 0: "completed 10", 10: "completed 10", 20: "completed 10" };
  for (const indexerClass of ["EnvironmentIndexer", "DummyIndexer"])
    await until(
      `${indexerClass} is done`,
      async () => Object.values(await ledger(t, indexerClass)).join() === Object.values(done).join(),
    );
  const { rows } = await t.database
    .forRun("sim_run_1")
    .query<{ tick: number }>("SELECT tick_number AS tick FROM sim.environment_data ORDER BY tick_number");
  expect(rows.map((row) => row.tick)).toEqual(range(0, 30));
  expect((await new MetadataReader(t.database).getMetadata(runId)).declaredEndTick).toBe(29n);
}
