import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { TcpProxy } from "../../../tests/helpers/tcp-proxy.ts";
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
import { BatchInfoSchema } from "../../contracts/index.ts";
import { createBatchCoordinator, InMemoryRetryTracker } from "../../coordination/index.ts";
import { setup, type TestContext } from "../../testing/index.ts";
import { PostgresTopics } from "../../topics/index.ts";
import { type ComponentType, DeadLetterQueue, redriveFiles } from "../index.ts";
import { filenameOf } from "./indexed-file.ts";

class DeadLettering extends Recorder {
  protected override getRequiredComponents() {
    return new Set<ComponentType>([...super.getRequiredComponents(), "DLQ"]);
  }
}

class OtherDeadLettering extends DeadLettering {}

const warnings = (t: TestContext, message: string) =>
  t.logs.expectLog({ logger: "pipeline.failures", level: "warn", message });

/** Statements that wait for a lock. */
async function waiting(t: TestContext): Promise<number> {
  const { rows } = await t.database.query(
    "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
  );
  return rows.length;
}

async function openWithLetters(t: TestContext, options: { capacity?: number } = {}) {
  const pipeline = await openPipeline(t);
  await pipeline.writeMetadata();
  await createSeen(t);
  const deadLetters = await DeadLetterQueue.open(pipeline.topics, {
    topic: "batch-topic-dead-letters",
    ...options,
  });
  return { ...pipeline, deadLetters };
}

describe("a file that can't be indexed", () => {
  it("goes to the dead letters when it is corrupt, while its neighbours go on", async () => {
    await using t = await setup();
    warnings(t, "Failed to index run-1/raw/*");
    warnings(t, "Moved to the dead letters: run-1/raw/*");
    const { deadLetters, ...pipeline } = await openWithLetters(t);
    const bad = await pipeline.write(100, 100);
    await writeFile(
      join(pipeline.storage.place, bad.key),
      "not a batch file at all, but long enough to be read",
    );
    await pipeline.send(0, 100);
    await pipeline.announce(bad);
    await pipeline.send(200, 100);
    const indexer = await started(
      t,
      new DeadLettering("recorder", { ...(await pipeline.resources("recorder")), deadLetters }, quick),
    );
    await until("it is given up", () => indexer.getMetrics().batches_dead_lettered === 1);
    await until("its neighbours are done", () => indexer.getMetrics().batches_processed === 2);
    await until("its announcement is given up", async () => (await deadLetters.count()) === 1);
    expect(await lagOf(pipeline.topics, "recorder")).toBe(0);
    expect(await ledger(t, "DeadLettering")).toEqual({
      0: "completed 100",
      100: "failed 0",
      200: "completed 100",
    });
    expect(await seenTicks(t)).toEqual([...range(0, 100), ...range(200, 100)]);

    t.logs.expectLog({ logger: "storage", level: "warn", message: "Replacing a damaged batch file" });
    await pipeline.write(100, 100);
    const scope = { runId, indexerClass: "DeadLettering", topic: "batch-topic", group: "recorder" };
    expect(await redriveFiles(t.database, pipeline.topics, scope)).toEqual({ files: 1, messages: 1 });
    await until("the re-driven file is done", () => indexer.getMetrics().batches_processed === 3);
    expect(await seenTicks(t)).toEqual(range(0, 300));
    await until("nothing is left", async () => (await lagOf(pipeline.topics, "recorder")) === 0);
    expect(await deadLetters.count()).toBe(0);
  });

  it("is tried again without sending back the letters of other files, or of other indexers", async () => {
    await using t = await setup();
    warnings(t, "Failed to index *: refused");
    warnings(t, "Moved to the dead letters: *: refused");
    const { deadLetters, ...pipeline } = await openWithLetters(t);
    for (const start of [0, 10]) await pipeline.send(start, 10);
    const resources = async (group: string) => ({ ...(await pipeline.resources(group)), deadLetters });
    const options = { ...quick, maxRetries: 1 };
    const own = new DeadLettering("own", await resources("own"), options);
    const other = new OtherDeadLettering("other", await resources("other"), options);
    for (const indexer of [own, other]) {
      indexer.refuse = () => {
        throw new Error("refused");
      };
      await started(t, indexer);
    }
    await until("all is given up", async () => (await deadLetters.count()) === 4);

    own.refuse = undefined;
    const scope = { runId, indexerClass: "DeadLettering", topic: "batch-topic" };
    const first = { ...scope, files: { tickEnd: 9 } };
    const redriving = await t.database.transaction(async (tx) => {
      await tx.query("SELECT FROM tallyman.retry_count FOR UPDATE");
      const outcome = redriveFiles(t.database, pipeline.topics, first);
      await until("it waits to forget the failures", async () => (await waiting(t)) > 0);
      // Until they are forgotten, nobody may try the file.
      expect(await ledger(t, "DeadLettering")).toEqual({ 0: "failed 0", 10: "failed 0" });
      return { outcome };
    });
    expect(await redriving.outcome).toEqual({ files: 1, messages: 0 });
    await until("the file is done", () => own.getMetrics().batches_processed === 1);
    expect(await deadLetters.count()).toBe(4);
    expect(await ledger(t, "DeadLettering")).toEqual({ 0: "completed 10", 10: "failed 0" });
    expect(await redriveFiles(t.database, pipeline.topics, scope)).toEqual({ files: 1, messages: 2 });
    await until("all is done", () => own.getMetrics().batches_processed === 2);
    await until("its letters are settled", async () => (await lagOf(pipeline.topics, "own")) === 0);
    expect(await deadLetters.count()).toBe(2);
  });

  it("is no file at all by its announcement, which goes to the dead letters alone", async () => {
    await using t = await setup();
    for (const reason of ["'*' is no batch file of run run-1, ticks *", "* can't be a storage key: *"])
      t.logs.expectLog({
        logger: "pipeline.intake",
        level: "warn",
        message: `Moved to the dead letters: message * of batch-topic: ${reason}`,
      });
    const { deadLetters, ...pipeline } = await openWithLetters(t);
    const file = await pipeline.write(0, 10);
    await pipeline.announce({ ...file, key: "", tickStart: 0, tickEnd: 0 });
    await pipeline.announce({ ...file, tickEnd: 99 });
    const elsewhere = file.key.replace("0_", "7_");
    const ticks = { tickStart: 7, tickEnd: 9 };
    await pipeline.announce({ ...file, key: elsewhere.replace(`${runId}/`, `${runId}/../`), ...ticks });
    await pipeline.announce({ ...file, key: elsewhere.replace(`${runId}/`, "run-2/"), ...ticks });
    await pipeline.announce(file);
    const indexer = await started(
      t,
      new DeadLettering("recorder", { ...(await pipeline.resources("recorder")), deadLetters }, quick),
    );
    await until("the good one is done", () => indexer.getMetrics().batches_processed === 1);
    await until("the others are given up", async () => (await deadLetters.count()) === 4);
    expect(indexer.state).toBe("RUNNING");
    expect(await ledger(t, "DeadLettering")).toEqual({ 0: "completed 10" });
    const { rows: known } = await t.database
      .forRun("sim_run_1")
      .query("SELECT tick_start, tick_end FROM sim.batch_files");
    expect(known).toEqual([{ tick_start: 0, tick_end: 9 }]);
  });

  it("is told apart from the files that it was flushed with", async () => {
    await using t = await setup();
    warnings(t, "Failed to index *0000000000000000010_*: tick 13 is refused");
    warnings(t, "Moved to the dead letters: *0000000000000000010_*");
    const { deadLetters, ...pipeline } = await openWithLetters(t);
    for (const start of [0, 10, 20]) await pipeline.send(start, 10);
    const indexer = new DeadLettering(
      "recorder",
      { ...(await pipeline.resources("recorder")), deadLetters },
      quick,
    );
    indexer.refuse = (ticks) => {
      if (ticks.some(({ tickNumber }) => tickNumber === 13n)) throw new Error("tick 13 is refused");
    };
    await started(t, indexer);
    await until("it is given up", () => indexer.getMetrics().batches_dead_lettered === 1);
    await until("the others are done", () => indexer.getMetrics().batches_processed === 2);
    expect(await seenTicks(t)).toEqual([...range(0, 10), ...range(20, 10)]);
  });

  it("is not acknowledged while the dead letters are full", async () => {
    await using t = await setup();
    warnings(t, "Failed to index *");
    warnings(t, "Not moved to the dead letters, trying again: *: The dead-letter queue holds 1 letters*");
    const { deadLetters, ...pipeline } = await openWithLetters(t, { capacity: 1 });
    const letter = { bytes: Buffer.from("x"), messageType: "x" };
    await t.database.transaction((tx) => deadLetters.put(letter, { error: "x", sourceService: "x" }, tx));
    await pipeline.send(0, 10);
    const tracker = new InMemoryRetryTracker();
    const resources = { ...(await pipeline.resources("recorder")), deadLetters, retryTracker: tracker };
    const indexer = new DeadLettering("recorder", resources, { ...quick, maxRetries: 1 });
    let attempts = 0;
    indexer.refuse = () => {
      attempts++;
      throw new Error("refused");
    };
    await started(t, indexer);
    await until("it is tried for ever", () => attempts >= 8);
    expect(await lagOf(pipeline.topics, "recorder")).toBe(1);
    expect(await ledger(t, "DeadLettering")).toEqual({ 0: "claimed 0" });
  });

  it("ends the service in ERROR without a dead-letter queue, and is not acknowledged", async () => {
    await using t = await setup();
    warnings(t, "Failed to index *: refused");
    t.logs.expectLog({ logger: "recorder", level: "error", message: "Failed: refused" });
    const pipeline = await openWithLetters(t);
    await pipeline.send(0, 10);
    const indexer = new Recorder("recorder", await pipeline.resources("recorder"), {
      ...quick,
      maxRetries: 2,
    });
    indexer.refuse = () => {
      throw new Error("refused");
    };
    await started(t, indexer);
    await until("it has failed", () => indexer.state === "ERROR");
    expect(indexer.getErrors().length).toBe(3);
    expect(await lagOf(pipeline.topics, "recorder")).toBe(1);
    indexer.refuse = undefined;
    await indexer.start();
    await until("it is done after all", () => indexer.getMetrics().batches_processed === 1);
    expect(await seenTicks(t)).toEqual(range(0, 10));
  });

  it("gives the other files back when the final flush ends in ERROR", async () => {
    await using t = await setup();
    warnings(t, "Failed to index *: refused");
    for (const message of ["Failed: refused", "Failed to stop cleanly: refused"])
      t.logs.expectLog({ logger: "first", level: "error", message });
    const pipeline = await openWithLetters(t);
    const resources = async () => ({
      ...(await pipeline.resources("recorder")),
      coordinator: createBatchCoordinator(t.database, { leaseMs: 60_000 }),
    });
    const together = { ...quick, maxRetries: 1, insertBatchSize: 30, flushTimeoutMs: 60_000 };
    const first = new Recorder("first", await resources(), together);
    first.refuse = () => {
      throw new Error("refused");
    };
    await started(t, first);
    for (const start of [0, 10, 20]) await pipeline.send(start, 10);
    await until("it has failed", () => first.state === "ERROR");
    await first.stop();
    expect(first.getMetrics()).toMatchObject({ claimed_batches_pending: 0, current_buffer_size: 0 });

    const second = await started(t, new Recorder("second", await resources(), quick));
    await until("another has them", () => second.getMetrics().batches_processed === 3);
    expect(await seenTicks(t)).toEqual(range(0, 30));
  });

  it("forgets its failures when it succeeds", async () => {
    await using t = await setup();
    warnings(t, "Failed to index *");
    const { deadLetters, ...pipeline } = await openWithLetters(t);
    await pipeline.send(0, 10);
    const tracker = new InMemoryRetryTracker();
    const resources = { ...(await pipeline.resources("recorder")), deadLetters, retryTracker: tracker };
    const indexer = new DeadLettering("recorder", resources, quick);
    let left = 2;
    indexer.refuse = () => {
      if (left-- > 0) throw new Error("refused");
    };
    await started(t, indexer);
    await until("it is done", () => indexer.getMetrics().batches_processed === 1);
    const { files } = await pipeline.storage.listBatchFiles(runId, undefined, 10);
    await until(
      "it is forgotten",
      async () =>
        (await tracker.getRetryCount(`DeadLettering/run-1/${filenameOf(files[0]?.key ?? "")}`)) === 0,
    );
  });

  it("is not condemned by a tracker that fails", async () => {
    await using t = await setup();
    warnings(t, "Failed to index *");
    const { deadLetters, ...pipeline } = await openWithLetters(t);
    await pipeline.send(0, 10);
    const broken = Object.assign(new InMemoryRetryTracker(), {
      incrementAndGetRetryCount: () => Promise.reject(new Error("no tracker")),
    });
    const resources = { ...(await pipeline.resources("recorder")), deadLetters, retryTracker: broken };
    const indexer = new DeadLettering("recorder", resources, { ...quick, maxRetries: 1 });
    let left = 5;
    indexer.refuse = () => {
      if (left-- > 0) throw new Error("refused");
    };
    await started(t, indexer);
    await until("it is done", () => indexer.getMetrics().batches_processed === 1);
    expect(await deadLetters.count()).toBe(0);
  });
});

/** A pipeline whose indexer reaches its tables through a proxy that can fail; what that cuts off runs out after a while. */
async function openBehindProxy(t: TestContext, holdMs: number) {
  const pipeline = await openWithLetters(t);
  const { proxy, url } = await TcpProxy.start(t.url);
  t.use(proxy);
  const database = await t.connect({ url, listenUrl: null });
  const topics = t.use(new PostgresTopics(database));
  const topic = await topics.reader(BatchInfoSchema, {
    topic: "batch-topic",
    group: "recorder",
    claimTimeoutMs: holdMs,
  });
  const coordinator = createBatchCoordinator(database, { leaseMs: holdMs });
  const { storage, deadLetters } = pipeline;
  return { pipeline, proxy, resources: { storage, database, topic, coordinator, deadLetters } };
}

describe("an outage of the database", () => {
  it("costs no attempts and loses nothing", async () => {
    await using t = await setup();
    t.logs.expectLog({
      logger: "recorder",
      level: "warn",
      message: "Waiting for database, topic and storage: *",
    });
    const { pipeline, proxy, resources } = await openBehindProxy(t, 2_000);
    const indexer = await started(t, new DeadLettering("recorder", resources, { ...quick, maxRetries: 1 }));
    await pipeline.send(0, 10);
    await until("it works", () => indexer.getMetrics().batches_processed === 1);
    proxy.goDown();
    for (const start of range(1, 5)) await pipeline.send(start * 10, 10);
    await until("it waits", () => t.logs.records.some(({ level }) => level === "warn"));
    proxy.comeUp();
    await until("all is done", async () => (await lagOf(pipeline.topics, "recorder")) === 0);
    expect(await seenTicks(t)).toEqual(range(0, 60));
    expect(await pipeline.deadLetters.count()).toBe(0);
  });

  it("asks the ledger whether a commit counted when its answer got lost", async () => {
    await using t = await setup();
    const { pipeline, proxy, resources } = await openBehindProxy(t, 60_000);
    const indexer = new DeadLettering("recorder", resources, quick);
    let cuts = 3;
    indexer.refuse = () => {
      if (cuts-- > 0) proxy.cutAfter("COMMIT");
    };
    await started(t, indexer);
    for (const start of range(0, 6)) {
      await pipeline.send(start * 10, 10);
      await until("it is done", () => indexer.getMetrics().batches_processed === start + 1);
    }
    expect(cuts).toBeLessThanOrEqual(0);
    expect(await seenTicks(t)).toEqual(range(0, 60));
    expect(await lagOf(pipeline.topics, "recorder")).toBe(0);
  });
});
