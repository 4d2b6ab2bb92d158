import { describe, expect, it } from "vitest";
import { type BatchCoordinatorReady, createBatchCoordinator } from "../../coordination/index.ts";
import type { Database } from "../../database/index.ts";
import { FileSystemStorage } from "../../storage/index.ts";
import { setup, type TestContext } from "../../testing/index.ts";
import { BatchCoordinationComponent, GapDetectionComponent } from "../index.ts";

const expected = { samplingInterval: 10 };
const logger = "pipeline.gap-detection";

function coordinator(database: Database): BatchCoordinatorReady {
  const created = createBatchCoordinator(database);
  created.setSimulationRun("run-1");
  return created.setIndexerClass("Dummy");
}

async function open(t: TestContext) {
  const storage = t.use(new FileSystemStorage({ rootDirectory: await t.temporaryFolder() }));
  const ready = coordinator(t.database);
  const write = (start: number, end: number) =>
    storage.writeBatch("run-1", start, end, [Buffer.from("record")]);
  const announce = async (start: number, end: number) => {
    const { key, bytes, crc } = await write(start, end);
    const filename = key.slice(key.lastIndexOf("/") + 1);
    await ready.registerFiles([{ filename, storageKey: key, tickStart: start, tickEnd: end, bytes, crc }]);
    await ready.reconcileGaps(expected);
  };
  return { storage, ready, write, announce };
}

async function age(database: Database, seconds: number): Promise<void> {
  await database
    .forRun("sim_run_1")
    .query("UPDATE sim.coordinator_gaps SET first_detected = first_detected - $1 * interval '1 s'", [
      seconds,
    ]);
}

describe("BatchCoordinationComponent", () => {
  it("answers a lost race with false, and logs nothing", async () => {
    await using t = await setup();
    const [a, b] = [coordinator(t.database), coordinator(t.database)].map(
      (ready) => new BatchCoordinationComponent(ready),
    );
    expect(await a?.tryClaim("batch", 0, 90)).toBe(true);
    expect(await b?.tryClaim("batch", 0, 90)).toBe(false);
    await a?.markCompleted("batch");
    expect(await b?.getMaxCompletedTickEnd()).toBe(90);
    expect(t.logs.records.filter((record) => record.level !== "debug")).toEqual([]);
  });

  it("warns of a failed batch", async () => {
    await using t = await setup();
    t.logs.expectLog({
      logger: "pipeline.batch-coordination",
      level: "warn",
      message: "Batch failed: batch",
    });
    const component = new BatchCoordinationComponent(coordinator(t.database));
    await component.tryClaim("batch", 0, 90);
    await component.markFailed("batch", "bad checksum");
  });

  it("passes a database error on: it is not a lost race", async () => {
    await using t = await setup();
    const component = new BatchCoordinationComponent(coordinator(t.database));
    await component.tryClaim("batch", 0, 90);
    await t.database.query("ALTER TABLE sim_run_1.coordinator_batches RENAME COLUMN attempts TO renamed");
    await expect(component.tryClaim("other", 0, 90)).rejects.toThrow(/attempts/);
  });
});

describe("GapDetectionComponent", () => {
  it("finds a file that was never announced, and closes its gap", async () => {
    await using t = await setup();
    const { storage, ready, write, announce } = await open(t);
    await announce(2000, 2990);
    const component = new GapDetectionComponent(ready, storage);
    expect(await component.search("run-1", expected)).toEqual([]);
    const { key } = await write(1000, 1990);
    expect(await component.search("run-1", expected)).toMatchObject([
      { key, tickStart: 1000, tickEnd: 1990 },
    ]);
    expect(await ready.listGaps()).toMatchObject([{ gapStartTick: 0, gapEndTick: 990, status: "pending" }]);
    expect(await component.search("run-1", expected)).toEqual([]);
  });

  it("searches later gaps although the oldest stays empty", async () => {
    await using t = await setup();
    const { storage, ready, write, announce } = await open(t);
    await announce(1000, 1990);
    await announce(3000, 3990);
    await write(2000, 2990);
    const component = new GapDetectionComponent(ready, storage);
    expect(await component.search("run-1", expected)).toMatchObject([{ tickStart: 2000 }]);
  });

  it("comes to gaps behind many that stay empty", async () => {
    await using t = await setup();
    const { storage, ready, write, announce } = await open(t);
    for (let start = 1000; start <= 23_000; start += 2000) await announce(start, start + 990);
    await write(22_000, 22_990);
    const component = new GapDetectionComponent(ready, storage);
    expect(await component.search("run-1", expected)).toEqual([]);
    expect(await component.search("run-1", expected)).toMatchObject([{ tickStart: 22_000 }]);
  });

  it("gives a gap up after the timeout with one warning, whoever searches, and goes on", async () => {
    await using t = await setup();
    t.logs.expectLog({
      logger,
      level: "warn",
      message: "Permanent gap: [0, 1990] missing for more than 60 s. Data incomplete.",
    });
    const { storage, ready, announce } = await open(t);
    await announce(2000, 2990);
    const components = [ready, coordinator(t.database)].map(
      (each) => new GapDetectionComponent(each, storage),
    );
    for (const component of components) await component.search("run-1", expected);
    expect(await ready.listGaps()).toMatchObject([{ status: "pending" }]);
    await age(t.database, 61);
    await Promise.all(components.map((component) => component.search("run-1", expected)));
    for (const component of components) await component.search("run-1", expected);
    expect(await ready.listGaps()).toMatchObject([
      { gapStartTick: 0, gapEndTick: 1990, status: "permanent" },
    ]);
    expect(components.map((component) => component.getPermanentGapsDetected()).toSorted()).toEqual([0, 1]);
    expect(t.logs.records.filter((record) => record.level === "warn")).toHaveLength(1);
  });

  it("takes a file that came at the last moment over the deadline", async () => {
    await using t = await setup();
    const { storage, ready, write, announce } = await open(t);
    await announce(1000, 1990);
    await age(t.database, 61);
    await write(0, 990);
    const component = new GapDetectionComponent(ready, storage);
    expect(await component.search("run-1", expected)).toHaveLength(1);
    expect(await ready.listGaps()).toEqual([]);
  });

  it("does not end the search with a listing that began before the deadline", async () => {
    await using t = await setup();
    const { storage, ready, announce } = await open(t);
    await announce(1000, 1990);
    const slow = {
      listBatchFiles: async (...args: Parameters<FileSystemStorage["listBatchFiles"]>) => {
        const page = await storage.listBatchFiles(...args);
        await age(t.database, 61);
        return page;
      },
    };
    await new GapDetectionComponent(ready, slow).search("run-1", expected);
    expect(await ready.listGaps()).toMatchObject([{ status: "pending" }]);
  });

  it("refuses a timeout that is not positive, by name", async () => {
    await using t = await setup();
    const { storage, ready } = await open(t);
    expect(() => new GapDetectionComponent(ready, storage, { gapWarningTimeoutMs: 0 })).toThrow(
      /gapWarningTimeoutMs/,
    );
  });
});
