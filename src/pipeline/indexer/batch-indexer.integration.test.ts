import { describe, expect, it } from "vitest";
import {
  createSeen,
  lagOf,
  ledger,
  openPipeline,
  Recorder,
  range,
  runId,
  seenTicks,
  started,
  unswept,
  until,
} from "../../../tests/kit/pipeline.ts";
import type { TickData } from "../../contracts/index.ts";
import { runSchemaName } from "../../database/index.ts";
import { deferred } from "../../runtime/index.ts";
import { setup } from "../../testing/index.ts";
import { BatchIndexer, type ComponentType } from "../index.ts";

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
