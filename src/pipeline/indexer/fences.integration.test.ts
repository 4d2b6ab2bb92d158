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
import { createBatchCoordinator, DatabaseIdempotencyTracker } from "../../coordination/index.ts";
import { deferred } from "../../runtime/index.ts";
import { setup, type TestContext } from "../../testing/index.ts";
import type { ComponentType } from "../index.ts";

class Other extends Recorder {}

/** A recorder whose leases are never renewed in time. */
async function open(t: TestContext) {
  const pipeline = await openPipeline(t);
  await pipeline.writeMetadata();
  await createSeen(t);
  const resources = async (leaseMs: number, claimTimeoutMs = 60_000) => ({
    storage: pipeline.storage,
    database: t.database,
    topic: await pipeline.reader("recorder", { claimTimeoutMs }),
    coordinator: createBatchCoordinator(t.database, { leaseMs }),
  });
  const expireClaims = () =>
    t.database
      .forRun("sim_run_1")
      .query("UPDATE sim.coordinator_batches SET lease_until = '-infinity' WHERE status = 'claimed'");
  const expiredClaims = async () => {
    const { rows } = await t.database
      .forRun("sim_run_1")
      .query("SELECT FROM sim.coordinator_batches WHERE lease_until < clock_timestamp()");
    return rows.length;
  };
  return { pipeline, resources, expireClaims, expiredClaims };
}

describe("an indexer that lost its claim", () => {
  it("writes nothing more of that file, and goes on with the others", async () => {
    await using t = await setup();
    const { pipeline, resources, expireClaims } = await open(t);
    const slow = new Recorder("slow", await resources(60_000), { ...quick, flushTimeoutMs: 60_000 });
    await started(t, slow);
    await pipeline.send(0, 10);
    await until("it is buffered", () => slow.getMetrics().current_buffer_size === 10);
    await expireClaims();
    // It sweeps as well, and must not take over from itself what it holds in its buffer.
    const heir = await started(t, new Recorder("heir", await resources(60_000), quick));
    await until("the heir is done", () => heir.getMetrics().batches_processed === 1);
    await slow.stop();
    expect(slow.getMetrics()).toMatchObject({ claims_lost: 1, ticks_processed: 0 });
    expect(await seenTicks(t)).toEqual(range(0, 10));
    expect(await ledger(t, "Recorder")).toEqual({ 0: "completed 10" });
    await until("the announcement is settled", async () => (await lagOf(pipeline.topics, "recorder")) === 0);
  });

  it("is not overtaken inside a flush: the row is locked, and the heir skips it", async () => {
    await using t = await setup();
    const { pipeline, resources, expiredClaims } = await open(t);
    const slow = new Recorder("slow", await resources(100), quick);
    slow.hold = deferred();
    await started(t, slow);
    await pipeline.send(0, 10);
    await until("it is inside its flush", () => slow.isHeld);
    // A renewal passes over what a flush has locked.
    await until("its lease has run out", async () => (await expiredClaims()) === 1);
    const heir = await started(t, new Recorder("heir", await resources(60_000), quick));
    await pipeline.send(10, 10);
    await until("the heir works on", () => heir.getMetrics().batches_processed === 1);
    slow.hold.resolve();
    await until("the slow one is done", () => slow.getMetrics().batches_processed === 1);
    expect(await seenTicks(t)).toEqual(range(0, 20));
  });

  it("drops what it had read ahead, and goes on with the others", async () => {
    await using t = await setup();
    const { pipeline, resources } = await open(t);
    for (const start of [0, 10, 20]) await pipeline.send(start, 10);
    const slow = new Recorder("slow", await resources(300), { ...quick, insertBatchSize: 10 });
    slow.hold = deferred();
    await started(t, slow);
    await until("it is inside a flush, and has read ahead", async () => {
      const { batches_read: filesRead } = pipeline.storage.getMetrics();
      return slow.isHeld && filesRead === 2;
    });
    // Another instance has taken the file over that was read ahead.
    await t.database
      .forRun("sim_run_1")
      .query(
        "UPDATE sim.coordinator_batches SET claim_version = 2, lease_until = 'infinity' WHERE tick_start = 10",
      );
    await until("it has learnt that", () => slow.getMetrics().claims_lost === 1);
    slow.hold.resolve();
    await until("the others are done", () => slow.getMetrics().batches_processed === 2);
    expect(await seenTicks(t)).toEqual([...range(0, 10), ...range(20, 10)]);
  });

  it("loses a connection that stalls far beyond its lease", async () => {
    await using t = await setup();
    t.logs.expectLog({
      logger: "pipeline.recovery",
      level: "warn",
      message: "Ended 1 stalled connections *",
    });
    const { pipeline, resources } = await open(t);
    await pipeline.send(0, 10);
    const client = await t.connect();
    const coordinator = createBatchCoordinator(client, { leaseMs: 100 });
    coordinator.setSimulationRun(runId);
    const dead = coordinator.setIndexerClass("Recorder");
    const { files } = await pipeline.storage.listBatchFiles(runId, undefined, 10);
    const file = files[0];
    const filename = file?.key.split("/").at(-1) ?? "";
    const known = { filename, storageKey: file?.key ?? "", tickStart: 0, tickEnd: 9 };
    await dead.registerFiles([known]);
    const { claimVersion } = await dead.tryClaim(filename, 0, 9);
    const resumed = deferred();
    const locked: (readonly string[])[] = [];
    const stalled = client.transaction(async (tx) => {
      locked.push(
        await dead.lockClaims([{ filename, claimVersion, from: 0, to: 10, completes: true }], { tx }),
      );
      await resumed.promise;
      await tx.query("SELECT 1");
    });
    await until("it has locked its file", () => locked.length === 1);

    const heir = await started(
      t,
      new Recorder("heir", await resources(200), { ...quick, stalledAfterMs: 200 }),
    );
    await until("the heir has it", () => heir.getMetrics().batches_processed === 1);
    resumed.resolve();
    await stalled;
    // Its transaction ran again on a new connection, and found that the file was no longer its own.
    expect(locked).toEqual([[filename], []]);
    expect(await seenTicks(t)).toEqual(range(0, 10));
  });
});

describe("an announcement", () => {
  it("that is delivered again while its file is buffered is acknowledged once, in its newest delivery", async () => {
    await using t = await setup();
    const { pipeline, resources } = await open(t);
    const indexer = new Recorder("recorder", await resources(60_000), { ...quick, flushTimeoutMs: 60_000 });
    await started(t, indexer);
    await pipeline.send(0, 10);
    await until("it is buffered", () => indexer.getMetrics().current_buffer_size === 10);
    await pipeline.topics.seekGroup("batch-topic", "recorder", "beginning");
    await pipeline.send(10, 10);
    await until("the next one is buffered", () => indexer.getMetrics().current_buffer_size === 20);
    await indexer.stop();
    expect(await seenTicks(t)).toEqual(range(0, 20));
    await until("both are settled", async () => {
      const rest = await started(t, new Recorder("rest", await resources(60_000), quick));
      await until("quiet", async () => (await lagOf(pipeline.topics, "recorder")) === 0);
      await rest.stop();
      return true;
    });
    expect(await seenTicks(t)).toEqual(range(0, 20));
  });

  it("that comes while its file is flushed is acknowledged too, though the flush knew nothing of it", async () => {
    class Searching extends Recorder {
      protected override getRequiredComponents() {
        return new Set<ComponentType>([...super.getRequiredComponents(), "GAP_DETECTION"]);
      }
    }
    await using t = await setup();
    const { pipeline, resources } = await open(t);
    await pipeline.writeMetadata(9);
    await pipeline.send(0, 10);
    const given = await resources(60_000);
    const topic = given.topic;
    const { ack, pollMany } = topic;
    const announced = deferred();
    const inFlush: number[] = [];
    topic.pollMany = async (...args) => {
      const messages = await pollMany.apply(topic, args);
      if (messages.length > 0) setImmediate(() => announced.resolve()); // when the indexer has taken note of it
      return messages;
    };
    topic.ack = async (messages, options) => {
      if (options?.tx) inFlush.push([messages].flat().length);
      await announced.promise;
      await ack.call(topic, messages, options);
    };
    // The file is found as missing, before its announcement is asked for, and flushed at once.
    await started(t, new Searching("searching", given, { ...quick, insertBatchSize: 10 }));
    await until("it is settled", async () => (await lagOf(pipeline.topics, "recorder")) === 0);
    expect(inFlush).toEqual([0]);
    expect(await seenTicks(t)).toEqual(range(0, 10));
  });

  it("that was lost is made up for by the sweep", async () => {
    await using t = await setup();
    const { pipeline, resources } = await open(t);
    await pipeline.write(0, 10);
    const indexer = await started(t, new Recorder("recorder", await resources(60_000), quick));
    await until("it is done", () => indexer.getMetrics().batches_processed === 1);
    expect(indexer.getMetrics().files_recovered).toBe(1);
  });

  it("of a file that is done is acknowledged without reading it", async () => {
    await using t = await setup();
    const { pipeline, resources } = await open(t);
    const indexer = await started(t, new Recorder("recorder", await resources(60_000), quick));
    await pipeline.send(0, 10);
    await until("it is done", () => indexer.getMetrics().batches_processed === 1);
    await pipeline.topics.seekGroup("batch-topic", "recorder", "beginning");
    await until("it is settled again", async () => (await lagOf(pipeline.topics, "recorder")) === 0);
    expect(pipeline.storage.getMetrics().batches_read).toBe(1);
    expect(await seenTicks(t)).toEqual(range(0, 10));
  });
});

describe("an announcement, to an indexer without a ledger", () => {
  class Unfenced extends Recorder {
    protected override getRequiredComponents() {
      return new Set<ComponentType>(["METADATA", "BUFFERING"]);
    }
  }

  it("of a file that is done is acknowledged without reading it, when idempotency is enabled", async () => {
    await using t = await setup();
    const { pipeline, resources } = await open(t);
    const { storage, database, topic } = await resources(60_000);
    const indexer = await started(
      t,
      new Unfenced("unfenced", { storage, database, topic }, { ...quick, enableIdempotency: true }),
    );
    const file = await pipeline.write(0, 10);
    await pipeline.announce(file);
    const tracker = new DatabaseIdempotencyTracker(t.database);
    tracker.setSimulationRun(runId);
    await until("it is remembered", () => tracker.isProcessed("Unfenced", file.key));
    await pipeline.topics.seekGroup("batch-topic", "recorder", "beginning");
    await until("it is settled again", async () => (await lagOf(pipeline.topics, "recorder")) === 0);
    expect(pipeline.storage.getMetrics().batches_read).toBe(1);
    expect(indexer.getMetrics().batches_processed).toBe(1);
  });
});

describe("indexer classes", () => {
  it("do not affect each other, and a new one begins at the beginning", async () => {
    await using t = await setup();
    const { pipeline, resources } = await open(t);
    const first = await started(t, new Recorder("first", await resources(60_000), quick));
    for (const start of [0, 10, 20]) await pipeline.send(start, 10);
    await until("the first is done", () => first.getMetrics().batches_processed === 3);
    const other = { ...(await resources(60_000)), topic: await pipeline.reader("other") };
    const second = await started(t, new Other("second", other, quick));
    await until("the second is done", () => second.getMetrics().batches_processed === 3);
    expect(await seenTicks(t)).toEqual(range(0, 30).flatMap((n) => [n, n]));
    expect(await ledger(t, "Other")).toEqual(await ledger(t, "Recorder"));
  });
});
