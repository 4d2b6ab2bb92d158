import { describe, expect, it } from "vitest";
import {
  createSeen,
  lagOf,
  ledger,
  openPipeline,
  quick,
  Recorder,
  range,
  runId,
  seenTicks,
  started,
  until,
} from "../../../tests/kit/pipeline.ts";
import type { TickData } from "../../contracts/index.ts";
import { createBatchCoordinator } from "../../coordination/index.ts";
import { runSchemaName } from "../../database/index.ts";
import { deferred } from "../../runtime/index.ts";
import { setup, type TestContext } from "../../testing/index.ts";
import { BatchIndexer, type ComponentType, DummyIndexer } from "../index.ts";

/** Leaves files to the topic: no sweep takes them. */
const unswept = { ...quick, sweepIntervalMs: 60_000 };

describe("BatchIndexer with buffering", () => {
  it("inserts across files, and acknowledges a file when its last tick is flushed", async () => {
    await using t = await setup();
    const pipeline = await openPipeline(t);
    await pipeline.writeMetadata();
    await createSeen(t);
    const resources = await pipeline.resources("recorder");
    const indexer = await started(
      t,
      new Recorder("recorder", resources, { ...unswept, insertBatchSize: 250, flushTimeoutMs: 60_000 }),
    );
    for (const start of [0, 100, 200]) await pipeline.send(start, 100);
    await until("the first flush", () => indexer.getMetrics().ticks_processed === 250);
    expect(await ledger(t, "Recorder")).toEqual({
      0: "completed 100",
      100: "completed 100",
      200: "claimed 50",
    });
    expect(await lagOf(pipeline.topics, "recorder")).toBe(1);
    expect(indexer.getMetrics()).toMatchObject({
      current_buffer_size: 50,
      batches_claimed: 3,
      batches_processed: 2,
      ticks_observed: 300,
      runs_processed: 1,
    });

    await pipeline.send(300, 100);
    await pipeline.send(400, 100);
    await until("the second flush", () => indexer.getMetrics().ticks_processed === 500);
    expect(await ledger(t, "Recorder")).toMatchObject({
      200: "completed 100",
      300: "completed 100",
      400: "completed 100",
    });
    expect(indexer.flushes).toEqual([250, 250]);
    expect(await seenTicks(t)).toEqual(range(0, 500));
    expect(await lagOf(pipeline.topics, "recorder")).toBe(0);
  });

  it("flushes what has waited long enough", async () => {
    await using t = await setup();
    const pipeline = await openPipeline(t);
    await pipeline.writeMetadata();
    await createSeen(t);
    const resources = await pipeline.resources("recorder");
    const indexer = await started(t, new Recorder("recorder", resources, { ...unswept, flushTimeoutMs: 50 }));
    await pipeline.send(0, 10);
    await until("the flush", () => indexer.getMetrics().batches_processed === 1);
    expect(indexer.flushes).toEqual([10]);
  });

  it.each([
    ["smaller than a file", 500, [500, 500, 500, 500]],
    ["larger than a file", 1500, [1500, 500]],
  ])("insertBatchSize %s", async (_name, insertBatchSize, flushes) => {
    await using t = await setup();
    const pipeline = await openPipeline(t);
    await pipeline.writeMetadata();
    await createSeen(t);
    for (const start of [0, 1000]) await pipeline.send(start, 1000);
    const resources = await pipeline.resources("recorder");
    const indexer = await started(
      t,
      new Recorder("recorder", resources, { ...unswept, insertBatchSize, flushTimeoutMs: 60_000 }),
    );
    await until("all is read", () => indexer.getMetrics().ticks_observed === 2000);
    await indexer.stop();
    expect(indexer.flushes).toEqual(flushes);
    expect(await seenTicks(t)).toEqual(range(0, 2000));
  });

  it("flushes on stop, gives the rest back with its position, and goes on there", async () => {
    await using t = await setup();
    const pipeline = await openPipeline(t);
    await pipeline.writeMetadata();
    await createSeen(t);
    const options = { ...unswept, insertBatchSize: 1_000, flushTimeoutMs: 60_000 };
    const first = new Recorder("first", await pipeline.resources("recorder"), options);
    await first.start();
    for (const start of [0, 100, 200]) await pipeline.send(start, 100);
    await until("all is buffered", () => first.getMetrics().current_buffer_size === 300);
    expect(await seenTicks(t)).toEqual([]);
    await first.stop();
    expect(await seenTicks(t)).toEqual(range(0, 300));
    expect(await lagOf(pipeline.topics, "recorder")).toBe(0);

    const second = new Recorder("second", await pipeline.resources("recorder"), {
      ...options,
      insertBatchSize: 70,
    });
    await second.start();
    await pipeline.send(300, 100);
    await until("part of it is flushed", () => second.getMetrics().ticks_processed === 70);
    await second.stop();
    expect(await ledger(t, "Recorder")).toMatchObject({ 300: "completed 100" });
    expect(await seenTicks(t)).toEqual(range(0, 400));
    const summary = "Indexed 300 ticks and ended 3 files of run run-1 so far.";
    t.logs.expectLog({ logger: "first", level: "info", message: summary });
    t.logs.expectLog({ logger: "pipeline.admission", level: "debug", message: "Claimed a file" });
    for (const message of ["Buffered", "Flushed"])
      t.logs.expectLog({ logger: "first", level: "debug", message });
  });

  it("completes an empty file", async () => {
    await using t = await setup();
    const pipeline = await openPipeline(t);
    await pipeline.writeMetadata();
    await createSeen(t);
    await pipeline.send(0, 0);
    const resources = await pipeline.resources("recorder");
    await started(t, new Recorder("recorder", resources, unswept));
    await until("it is acknowledged", async () => (await lagOf(pipeline.topics, "recorder")) === 0);
    expect(await ledger(t, "Recorder")).toEqual({ 0: "completed 0" });
  });
});

describe("BatchIndexer without buffering", () => {
  class TickByTick extends Recorder {
    protected override getRequiredComponents() {
      return new Set<ComponentType>(["METADATA"]);
    }
  }
  class Bare extends Recorder {
    protected override getRequiredComponents() {
      return new Set<ComponentType>();
    }
  }

  it.each([
    ["metadata only", TickByTick],
    ["no component at all", Bare],
  ])("writes tick by tick and acknowledges once: %s", async (_name, Kind) => {
    await using t = await setup();
    const pipeline = await openPipeline(t);
    await pipeline.writeMetadata();
    await createSeen(t);
    await pipeline.send(0, 5);
    const { storage, database, topic } = await pipeline.resources("tick-by-tick");
    const indexer = await started(t, new Kind("tick-by-tick", { storage, database, topic }, unswept));
    await until("it is acknowledged", async () => (await lagOf(pipeline.topics, "tick-by-tick")) === 0);
    expect(indexer.flushes).toEqual([1, 1, 1, 1, 1]);
    expect(await seenTicks(t)).toEqual(range(0, 5));
  });
});

describe("BatchIndexer that declares no components", () => {
  class Plain extends BatchIndexer {
    readonly flushes: number[] = [];

    protected override flushTicks(ticks: readonly TickData[]) {
      this.flushes.push(ticks.length);
    }
  }

  it("waits for metadata, fails when there is none in time, and buffers", async () => {
    await using t = await setup();
    t.logs.expectLog({
      logger: "plain",
      level: "error",
      message: "Failed: The metadata of run run-1 was not indexed within 50 ms*",
    });
    const pipeline = await openPipeline(t);
    await pipeline.send(0, 10);
    const { storage, database, topic } = await pipeline.resources("plain");
    const options = { ...unswept, metadataMaxPollDurationMs: 50 };
    const indexer = await started(t, new Plain("plain", { storage, database, topic }, options));
    await until("it has given up", () => indexer.state === "ERROR");
    expect(indexer.failure).toMatchObject({ code: "METADATA_TIMEOUT" });
    expect(indexer.flushes).toEqual([]);

    await pipeline.writeMetadata();
    await indexer.start();
    await until("it is acknowledged", async () => (await lagOf(pipeline.topics, "plain")) === 0);
    expect(indexer.flushes).toEqual([10]);
    expect(await ledger(t, "Plain")).toEqual({});
  });
});

describe("competing indexers", () => {
  it("share the files, each of which is processed once", async () => {
    await using t = await setup();
    const pipeline = await openPipeline(t);
    await pipeline.writeMetadata();
    await createSeen(t);
    for (const start of range(0, 60)) await pipeline.send(start * 10, 10);
    const hold = deferred();
    const indexers = await Promise.all(
      range(0, 3).map(async (n) => {
        const options = { ...unswept, insertBatchSize: 20 };
        const indexer = new Recorder(`r${n}`, await pipeline.resources("recorder"), options);
        indexer.hold = hold;
        return started(t, indexer);
      }),
    );
    await until("each has its share", () => indexers.every(({ isHeld }) => isHeld));
    hold.resolve();
    const processed = () =>
      indexers.reduce((sum, each) => sum + (each.getMetrics().batches_processed ?? 0), 0);
    await until("all is done", () => processed() >= 60);
    await until("all is acknowledged", async () => (await lagOf(pipeline.topics, "recorder")) === 0);
    expect(processed()).toBe(60);
    expect(await seenTicks(t)).toEqual(range(0, 600));
  });
});

describe("an indexer that would write another class's tables", () => {
  class Owner extends Recorder {
    protected override readonly tables = ["seen"];
  }
  class Stranger extends Owner {}

  it("is refused, and leaves nothing behind that would refuse the other", async () => {
    await using t = await setup();
    t.logs.expectLog({
      logger: "stranger",
      level: "error",
      message: "Failed: Stranger with group 'stranger' would share its tables with Owner. *",
    });
    const pipeline = await openPipeline(t);
    await pipeline.writeMetadata();
    await createSeen(t);
    const owner = await started(t, new Owner("owner", await pipeline.resources("owner"), unswept));
    await pipeline.send(0, 10);
    await until("the owner works", () => owner.getMetrics().batches_processed === 1);
    const stranger = await started(
      t,
      new Stranger("stranger", await pipeline.resources("stranger"), unswept),
    );
    await until("the stranger is refused", () => stranger.state === "ERROR");
    expect(stranger.failure).toMatchObject({ code: "INDEXER_GROUP_CONFLICT" });
    await owner.restart();
    await pipeline.send(10, 10);
    await until("the owner works on", () => owner.getMetrics().batches_processed === 2);
  });
});

async function gaps(t: TestContext): Promise<string[]> {
  const { rows } = await t.database
    .forRun("sim_run_1")
    .query<{ text: string }>(
      "SELECT format('%s-%s %s', gap_start_tick, gap_end_tick, status) AS text FROM sim.coordinator_gaps",
    );
  return rows.map(({ text }) => text);
}

describe("prepareSchema", () => {
  /** Makes a table of its own. */
  class Maker extends Recorder {
    protected override async prepareSchema(run: string): Promise<void> {
      await this.database
        .forRun(runSchemaName(run))
        .query("CREATE TABLE IF NOT EXISTS sim.made (tick int8 PRIMARY KEY)");
    }
  }

  it("outlives another instance that makes the same table at the same moment", async () => {
    await using t = await setup();
    const pipeline = await openPipeline(t);
    await pipeline.writeMetadata();
    await createSeen(t);
    await pipeline.send(0, 10);
    const maker = new Maker("maker", await pipeline.resources("maker"), unswept);
    const isWaiting = async () => {
      const { rows } = await t.database.query(
        "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'CREATE TABLE IF NOT EXISTS %made%'",
      );
      return rows.length > 0;
    };
    await t.database.forRun(runSchemaName(runId)).transaction(async (tx) => {
      await tx.query("CREATE TABLE sim.made (tick int8 PRIMARY KEY)");
      await started(t, maker);
      await until("the second waits for the first", isWaiting);
    });
    await until("it indexes", () => maker.getMetrics().ticks_processed === 10);
  });
});

describe("DummyIndexer", () => {
  it("finds files without any topic, and what fills a gap later", async () => {
    await using t = await setup();
    const pipeline = await openPipeline(t, { samplingInterval: 10 });
    await pipeline.writeMetadata();
    for (const start of [0, 2000, 3000]) await pipeline.write(start, 100);
    const { storage, database, coordinator } = await pipeline.resources("unused");
    const indexer = await started(
      t,
      new DummyIndexer("dummy", { storage, database, coordinator }, { ...unswept, source: "discovery" }),
    );
    await until("three files are done", () => indexer.getMetrics().batches_processed === 3);
    await until("the gap is known", async () => (await gaps(t)).length === 1);
    expect(await gaps(t)).toEqual(["1000-1990 pending"]);
    await pipeline.write(1000, 100);
    await until("the gap is filled", () => indexer.getMetrics().batches_processed === 4);
    await until("the gap is closed", async () => (await gaps(t)).length === 0);
    t.logs.expectLog({ logger: "pipeline.gap-detection", level: "debug", message: "Gaps have changed" });
    expect(indexer.getMetrics()).toMatchObject({
      ticks_processed: 400,
      cells_observed: 400,
      organisms_observed: 400,
    });
  });

  it("has the figures of its coordinator, unless that is a resource with figures of its own", async () => {
    await using t = await setup();
    const pipeline = await openPipeline(t);
    await pipeline.writeMetadata();
    await pipeline.send(0, 10);
    const { coordinator, ...resources } = await pipeline.resources("dummy");
    const indexer = await started(t, new DummyIndexer("dummy", resources, unswept));
    await until("the file is done", () => indexer.getMetrics().batches_processed === 1);
    expect(indexer.getMetrics()).toMatchObject({
      claim_successes: 1,
      batches_completed: 1,
      metadata_reads: expect.any(Number),
    });
    const bound = new DummyIndexer("bound", { ...resources, coordinator }, unswept);
    expect(bound.getMetrics()).not.toHaveProperty("claim_successes");
  });

  it("looks below its batchPath only", async () => {
    await using t = await setup();
    t.logs.expectLog({
      logger: "pipeline.gap-detection",
      level: "warn",
      message: "Permanent gap: [0, 99999] *",
    });
    const pipeline = await openPipeline(t);
    await pipeline.writeMetadata();
    for (const start of [0, 100_000, 100_010]) await pipeline.write(start, 10);
    const { storage, database, coordinator } = await pipeline.resources("unused");
    const indexer = new DummyIndexer(
      "dummy",
      { storage, database, coordinator },
      {
        ...unswept,
        source: "discovery",
        batchPath: "run-1/raw/00000000000/001/",
        gapWarningTimeoutMs: 50,
      },
    );
    await started(t, indexer);
    await until("two files are done", () => indexer.getMetrics().batches_processed === 2);
    await until("the gap is given up", () => indexer.getMetrics().permanent_gaps_detected === 1);
    expect(await ledger(t, "DummyIndexer")).toEqual({ 100000: "completed 10", 100010: "completed 10" });
  });

  it("gives up a gap that stays, with one warning", async () => {
    await using t = await setup();
    t.logs.expectLog({
      logger: "pipeline.gap-detection",
      level: "warn",
      message: "Permanent gap: [1000, 2990] *",
    });
    const pipeline = await openPipeline(t, { samplingInterval: 10 });
    await pipeline.writeMetadata();
    for (const start of [0, 3000]) await pipeline.send(start, 100);
    const resources = await pipeline.resources("dummy");
    const indexer = await started(
      t,
      new DummyIndexer("dummy", resources, { ...unswept, gapWarningTimeoutMs: 50 }),
    );
    await until("it is given up", () => indexer.getMetrics().permanent_gaps_detected === 1);
    await until("the rest is done", () => indexer.getMetrics().batches_processed === 2);
  });

  it("sweeps up a file that turns up unannounced in a gap given up, and searches the rest of the gap again", async () => {
    await using t = await setup();
    t.logs.expectLog({ logger: "pipeline.gap-detection", level: "warn", message: "Permanent gap: *" });
    const pipeline = await openPipeline(t, { samplingInterval: 10 });
    await pipeline.writeMetadata();
    for (const start of [0, 3000]) await pipeline.send(start, 100);
    const resources = await pipeline.resources("dummy");
    const indexer = await started(
      t,
      new DummyIndexer("dummy", resources, { ...quick, gapWarningTimeoutMs: 50 }),
    );
    await until("it is given up", () => indexer.getMetrics().permanent_gaps_detected === 1);
    expect(await gaps(t)).toEqual(["1000-2990 permanent"]);

    await pipeline.write(1000, 100);
    await until("the rest is given up too", () => indexer.getMetrics().permanent_gaps_detected === 2);
    expect(await gaps(t)).toEqual(["2000-2990 permanent"]);
    await until("the file is done", () => indexer.getMetrics().batches_processed === 3);
    expect(indexer.getMetrics()).toMatchObject({ files_recovered: 1, ticks_processed: 300 });
  });

  it("sweeps up a file in a gap given up behind many others", async () => {
    await using t = await setup();
    t.logs.expectLog({ logger: "pipeline.gap-detection", level: "warn", message: "Permanent gap: *" });
    const pipeline = await openPipeline(t);
    await pipeline.writeMetadata();
    for (const n of range(0, 13)) await pipeline.send(n * 20, 10);
    const resources = await pipeline.resources("dummy");
    const indexer = await started(
      t,
      new DummyIndexer("dummy", resources, { ...quick, gapWarningTimeoutMs: 50 }),
    );
    await until("all are given up", () => indexer.getMetrics().permanent_gaps_detected === 12);
    await pipeline.write(230, 10);
    await until("the last is filled", () => indexer.getMetrics().batches_processed === 14);
  });

  it("goes on when a file ends at the last tick that there can be", async () => {
    await using t = await setup();
    const pipeline = await openPipeline(t);
    await pipeline.writeMetadata();
    const { storage, database, coordinator } = await pipeline.resources("unused");
    const { key, tickStart, tickEnd } = await pipeline.write(Number.MAX_SAFE_INTEGER, 0);
    const scout = createBatchCoordinator(database);
    scout.setSimulationRun(runId);
    const filename = key.slice(key.lastIndexOf("/") + 1);
    await scout.setIndexerClass("Scout").registerFiles([{ filename, storageKey: key, tickStart, tickEnd }]);
    const options = { ...quick, source: "discovery" } as const;
    const indexer = await started(t, new DummyIndexer("dummy", { storage, database, coordinator }, options));
    await until("it is done", () => indexer.getMetrics().batches_processed === 1);
    expect(indexer.state).toBe("RUNNING");
  });
});
