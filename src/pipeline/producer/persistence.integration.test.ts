import { create, fromBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  BatchInfoSchema,
  CellSchema,
  CellState,
  DeadLetterMessageSchema,
  MetadataInfoSchema,
  SimulationMetadataSchema,
  type TickData,
  TickDataSchema,
} from "../../contracts/index.ts";
import { TallymanError } from "../../errors/index.ts";
import { FileSystemStorage } from "../../storage/index.ts";
import { FakeClock, setup, type TestContext } from "../../testing/index.ts";
import { PostgresTopics, type TopicWriter } from "../../topics/index.ts";
import {
  MetadataPersistenceService,
  MetadataQueue,
  type PersistenceOptions,
  PersistenceService,
  TickQueue,
} from "../index.ts";

const runId = "run-1";

function tick(number: number, more: Partial<TickData> = {}): TickData {
  return { ...create(TickDataSchema, { tickNumber: BigInt(number), simulationRunId: runId }), ...more };
}

/** Real storage and topics in a test's own folder and database, with ways to make them fail. */
async function plant(t: TestContext) {
  const storage = new FileSystemStorage({ rootDirectory: await t.temporaryFolder() });
  const topics = t.use(new PostgresTopics(t.database));
  const topic = await topics.writer(BatchInfoSchema, { topic: "batch-topic" });
  const reader = await topics.reader(BatchInfoSchema, { topic: "batch-topic", group: "test", runId });
  const deadLetters = await topics.writer(DeadLetterMessageSchema, { topic: "tick-dead-letters" });
  const letters = await topics.reader(DeadLetterMessageSchema, { topic: "tick-dead-letters", group: "test" });
  const queue = new TickQueue();
  const files = async (run = runId) =>
    (await storage.listBatchFiles(run, undefined, 10_000)).files.map(({ tickStart, tickEnd }) => [
      tickStart,
      tickEnd,
    ]);
  const announced = async () =>
    (await reader.pollMany(1_000, 0)).map(({ payload }) => [
      Number(payload.tickStart),
      Number(payload.tickEnd),
    ]);
  const written = async () => {
    const page = await storage.listBatchFiles(runId, undefined, 10_000);
    const batches = await Promise.all(page.files.map(({ key }) => storage.readBatch(key)));
    return batches.flat().map(({ tickNumber }) => Number(tickNumber));
  };
  const service = (options: Partial<PersistenceOptions> = {}, more: object = {}) =>
    t.use(new PersistenceService("persistence", { queue, storage, topic, deadLetters, ...more }, options));
  return { storage, topics, topic, reader, deadLetters, letters, queue, files, announced, written, service };
}

async function offerAll(queue: TickQueue, numbers: Iterable<number>, samplingInterval = 1): Promise<void> {
  for (const number of numbers) await queue.offer(tick(number), { samplingInterval });
}

function range(first: number, last: number, step = 1): number[] {
  return Array.from({ length: (last - first) / step + 1 }, (_, index) => first + index * step);
}

/** A storage that fails so many times before it works; `attempts` counts all calls. */
function failing(storage: FileSystemStorage, failures: number, error: Error = storageError()) {
  let attempts = 0;
  const writeBatch = (...args: Parameters<FileSystemStorage["writeBatch"]>) => {
    attempts++;
    if (attempts <= failures) return Promise.reject(error);
    return storage.writeBatch(...args);
  };
  return { storage: { writeBatch } as unknown as FileSystemStorage, attempts: () => attempts };
}

function storageError(): TallymanError {
  return new TallymanError("STORAGE_UNAVAILABLE", "The disk is away.");
}

/** A topic whose next sends fail until it is mended. */
function breakable<T extends TopicWriter<never>>(topic: T) {
  const state = { isBroken: true };
  const proxy = new Proxy(topic, {
    get(target, property) {
      if (property === "send" && state.isBroken) return () => Promise.reject(new Error("The topic is down."));
      const value = Reflect.get(target, property);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return { topic: proxy, mend: () => Object.assign(state, { isBroken: false }) };
}

const fast = { retryBackoffMs: 1, retryBackoffMaxMs: 2 };

describe("PersistenceService writes", () => {
  it("files of maxBatchSize ticks, then announces each with its range, size and checksum", async () => {
    await using t = await setup();
    const { queue, service, storage, reader, files } = await plant(t);
    await offerAll(queue, range(0, 190, 10), 10);
    await service({ maxBatchSize: 10 }).start();
    await queue.whenEmpty();
    expect(await files()).toEqual([
      [0, 90],
      [100, 190],
    ]);
    const messages = await reader.pollMany(10, 5_000);
    const [first] = messages;
    if (!first) throw new Error("nothing was announced");
    const file = await storage.describeBatch(first.payload.storageKey);
    expect(first.payload).toMatchObject({
      simulationRunId: runId,
      storageKey: file.key,
      tickStart: 0n,
      tickEnd: 90n,
      bytes: BigInt(file.bytes),
      crc: file.crc,
    });
    expect([first.key, first.runId]).toEqual([file.key, runId]);
  });

  it("a smaller file when its oldest tick has waited batchTimeoutMs", async () => {
    await using t = await setup();
    const { storage, topic, service, files } = await plant(t);
    const clock = new FakeClock();
    const queue = new TickQueue({}, clock);
    await service({ maxBatchSize: 10, batchTimeoutMs: 1_000 }, { queue, storage, topic, clock }).start();
    await offerAll(queue, [0, 1, 2]);
    await clock.advance(999);
    expect(await files()).toEqual([]);
    await clock.advance(1);
    await queue.whenEmpty();
    expect(await files()).toEqual([[0, 2]]);
  });

  it("and announces what is queued when it is stopped", async () => {
    await using t = await setup();
    const { queue, service, files, announced } = await plant(t);
    const persistence = service({ maxBatchSize: 10, batchTimeoutMs: 60_000 });
    await persistence.start();
    await offerAll(queue, range(0, 24));
    await persistence.stop();
    expect(persistence.state).toBe("STOPPED");
    expect(await files()).toEqual([
      [0, 9],
      [10, 19],
      [20, 24],
    ]);
    expect(await announced()).toEqual(await files());
    expect(persistence.getMetrics()).toMatchObject({
      batches_written: 3,
      ticks_written: 25,
      notifications_sent: 3,
    });
  });

  it("until the queue is closed and drained, and then stops by itself", async () => {
    await using t = await setup();
    const { queue, service, announced } = await plant(t);
    const persistence = service({ maxBatchSize: 10, batchTimeoutMs: 60_000 });
    await persistence.start();
    await offerAll(queue, range(0, 4));
    queue.close();
    await expect.poll(() => persistence.state).toBe("STOPPED");
    expect(await announced()).toEqual([[0, 4]]);
  });

  it("no file across a hole: the range in a name is what the file holds", async () => {
    await using t = await setup();
    const { queue, service, files } = await plant(t);
    await offerAll(queue, [0, 20, 10, 50, 60, 40], 10);
    await service().start();
    queue.close();
    await queue.whenEmpty();
    expect(await files()).toEqual([
      [0, 20],
      [40, 60],
    ]);
  });

  it("ticks of two runs to files of their own", async () => {
    await using t = await setup();
    const { queue, service, files, announced, reader } = await plant(t);
    for (const number of [0, 1]) {
      for (const run of ["run-1", "run-2"]) await queue.offer(tick(number, { simulationRunId: run }));
    }
    const persistence = service();
    await persistence.start();
    await persistence.stop();
    expect([await files("run-1"), await files("run-2")]).toEqual([[[0, 1]], [[0, 1]]]);
    expect(await announced()).toHaveLength(1);
    reader.setSimulationRun("run-2");
    expect(await announced()).toHaveLength(1);
  });
});

describe("PersistenceServices that compete", () => {
  it("write files that do not overlap and together hold every tick once", async () => {
    await using t = await setup();
    const { storage, topic, written, files, announced } = await plant(t);
    const queue = new TickQueue({ recordsMax: 50 });
    const services = [1, 2, 3].map((number) =>
      t.use(
        new PersistenceService(
          `persistence-${number}`,
          { queue, storage, topic },
          { maxBatchSize: 7 + number },
        ),
      ),
    );
    for (const service of services) await service.start();
    await offerAll(queue, range(0, 499));
    queue.close();
    await queue.whenEmpty();
    await Promise.all(services.map((service) => service.stop()));
    expect(await written()).toEqual(range(0, 499));
    const ranges = await files();
    ranges.slice(1).forEach(([start], index) => {
      expect(start).toBe((ranges[index]?.[1] ?? 0) + 1);
    });
    expect((await announced()).toSorted(([a = 0], [b = 0]) => a - b)).toEqual(ranges);
    expect(
      services.filter((service) => (service.getMetrics().batches_written ?? 0) > 0).length,
    ).toBeGreaterThan(1);
  });
});

describe("PersistenceService and failing writes", () => {
  it("repeats a write, and announces once it worked", async () => {
    await using t = await setup();
    const { queue, storage, service, announced } = await plant(t);
    const disk = failing(storage, 2);
    const persistence = service(fast, { storage: disk.storage });
    await offerAll(queue, range(0, 4));
    queue.close();
    await persistence.start();
    await queue.whenEmpty();
    await persistence.stop();
    expect([disk.attempts(), await announced()]).toEqual([3, [[0, 4]]]);
    expect(persistence.getMetrics()).toMatchObject({ write_errors: 2, error_count: 2 });
  });

  it("announces nothing, keeps the ticks and ends in ERROR when it goes on failing", async () => {
    await using t = await setup();
    const { queue, storage, service, announced, written } = await plant(t);
    t.logs.expectLog({ logger: "persistence", level: "error", message: "Failed: The disk is away." });
    const disk = failing(storage, 4);
    const persistence = service(
      { ...fast, maxRetries: 3 },
      { storage: disk.storage, deadLetters: undefined },
    );
    await offerAll(queue, range(0, 4));
    queue.close();
    await persistence.start();
    await expect.poll(() => persistence.state).toBe("ERROR");
    expect([persistence.isHealthy(), queue.size, queue.waiting]).toEqual([false, 5, 5]);
    expect(await announced()).toEqual([]);

    await persistence.start();
    await queue.whenEmpty();
    await persistence.stop();
    expect(await written()).toEqual(range(0, 4));
    expect(await announced()).toEqual([[0, 4]]);
  });

  it("sends the ticks to the dead-letter topic when it goes on failing, and works on", async () => {
    await using t = await setup();
    const { queue, storage, service, announced, letters } = await plant(t);
    t.logs.expectLog({
      logger: "persistence",
      level: "warn",
      message: "Dead-lettered ticks 0 to 1 of run run-1*",
    });
    const disk = failing(storage, 2);
    const persistence = service({ ...fast, maxRetries: 1, maxBatchSize: 2 }, { storage: disk.storage });
    await offerAll(queue, range(0, 3));
    queue.close();
    await persistence.start();
    await queue.whenEmpty();
    await persistence.stop();
    expect(await announced()).toEqual([[2, 3]]);
    const dead = await letters.pollMany(10, 0);
    expect(dead.map(({ payload }) => fromBinary(TickDataSchema, payload.originalMessage).tickNumber)).toEqual(
      [0n, 1n],
    );
    expect(dead[0]?.payload).toMatchObject({
      messageType: TickDataSchema.typeName,
      failureReason: "TallymanError: The disk is away.",
      retryCount: 1,
      sourceService: "persistence",
    });
  });

  it("does not repeat a write that can never succeed", async () => {
    await using t = await setup();
    const { queue, storage, service, letters } = await plant(t);
    t.logs.expectLog({ logger: "persistence", level: "warn", message: "Dead-lettered ticks 0 to 0*" });
    const other = tick(0, { capturedAtMs: 7n });
    await storage.writeBatch(runId, 0, 0, [other], { schema: TickDataSchema });
    await offerAll(queue, [0]);
    const persistence = service({ retryBackoffMs: 60_000, retryBackoffMaxMs: 60_000 });
    await persistence.start();
    await persistence.stop();
    const [letter] = await letters.pollMany(10, 0);
    expect(letter?.payload.failureReason).toContain("exists with other records");
  });

  it("tries once more when it is stopped in the middle of its retries", async () => {
    await using t = await setup();
    const { queue, storage, service, announced } = await plant(t);
    const disk = failing(storage, 1);
    const persistence = service(
      { retryBackoffMs: 60_000, retryBackoffMaxMs: 60_000 },
      { storage: disk.storage },
    );
    await offerAll(queue, [0, 1]);
    queue.close();
    await persistence.start();
    await expect.poll(disk.attempts).toBe(1);
    await persistence.stop();
    expect([disk.attempts(), await announced()]).toEqual([2, [[0, 1]]]);
  });
});

describe("PersistenceService and failing announcements", () => {
  it("repeats them in order while it goes on writing", async () => {
    await using t = await setup();
    const { queue, topic, service, files, announced } = await plant(t);
    const broken = breakable(topic as TopicWriter<never>);
    const persistence = service({ ...fast, maxBatchSize: 2 }, { topic: broken.topic });
    await persistence.start();
    await offerAll(queue, range(0, 5));
    await queue.whenEmpty();
    expect(await files()).toHaveLength(3);
    await expect.poll(() => persistence.getMetrics().notifications_failed).toBeGreaterThan(1);
    expect([persistence.isHealthy(), await announced()]).toEqual([false, []]);
    broken.mend();
    await expect.poll(() => persistence.getMetrics().notifications_sent).toBe(3);
    expect([persistence.isHealthy(), await announced()]).toEqual([true, await files()]);
  });

  it("warns at its end of files that were never announced; storage lists them", async () => {
    await using t = await setup();
    const { queue, topic, service, files } = await plant(t);
    t.logs.expectLog({ logger: "persistence", level: "warn", message: "Could not announce 1 file(s)*" });
    const persistence = service(fast, { topic: breakable(topic as TopicWriter<never>).topic });
    await offerAll(queue, [0, 1]);
    await persistence.start();
    await persistence.stop();
    expect([persistence.state, await files()]).toEqual(["STOPPED", [[0, 1]]]);
  });

  it("warns once that no topic is bound, and only writes", async () => {
    await using t = await setup();
    const { queue, service, files } = await plant(t);
    t.logs.expectLog({ logger: "persistence", level: "warn", message: "No topic is bound*" });
    const persistence = service({ maxBatchSize: 2 }, { topic: undefined });
    await offerAll(queue, range(0, 5));
    queue.close();
    await persistence.start();
    await queue.whenEmpty();
    await persistence.stop();
    expect(await files()).toHaveLength(3);
    expect(t.logs.records.filter(({ level }) => level === "warn")).toHaveLength(1);
    expect(persistence.getMetrics()).toMatchObject({ notifications_sent: 0, notifications_failed: 0 });
  });
});

describe("PersistenceService skips", () => {
  it("ticks that were written before, also when a batch holds nothing else", async () => {
    await using t = await setup();
    const { queue, service, announced, files } = await plant(t);
    const persistence = service({ maxBatchSize: 3 });
    await offerAll(queue, [0, 1, 2, 0, 1, 2, 2, 1, 0, 3, 4, 3]);
    queue.close();
    await persistence.start();
    await queue.whenEmpty();
    await persistence.stop();
    expect(await files()).toEqual([
      [0, 2],
      [3, 4],
    ]);
    expect(await announced()).toEqual(await files());
    expect(persistence.getMetrics()).toMatchObject({ duplicate_ticks: 7, batches_written: 2 });
  });

  const cell = create(CellSchema, { cellId: 1, state: CellState.FOOD });
  const bad: readonly [string, TickData][] = [
    ["of another run", tick(7, { simulationRunId: "run-2" })],
    ["of a run without a valid id", tick(7, { simulationRunId: "../run" })],
    ["with a negative number", tick(-10)],
    ["off the sampling grid", tick(7)],
    ["with a cell of no known state", tick(0, { cells: [create(CellSchema, { cellId: 1 })] })],
    ["with a cell outside every grid", tick(0, { cells: [{ ...cell, x: -1 }] })],
    ["with a cell twice", tick(0, { cells: [cell, cell] })],
    ["that can't be encoded", tick(0, { capturedAtMs: 2n ** 70n })],
  ];

  it.each(bad)("to the dead-letter topic a tick %s, and writes its neighbours", async (_, badTick) => {
    await using t = await setup();
    const { queue, service, written, letters } = await plant(t);
    const persistence = service({ ...fast, runId: badTick.simulationRunId === "run-2" ? runId : undefined });
    await queue.offer(badTick, { samplingInterval: 10 });
    await offerAll(queue, [10, 20, 30], 10);
    queue.close();
    await persistence.start();
    await queue.whenEmpty();
    await persistence.stop();
    expect(persistence.state).toBe("STOPPED");
    expect(await written()).toEqual([10, 20, 30]);
    expect(await letters.pollMany(10, 0)).toHaveLength(1);
    expect(persistence.getMetrics()).toMatchObject({ ticks_dead_lettered: 1, ticks_written: 3 });
  });

  it("and logs a bad tick when there is no dead-letter topic; a good one with its number may follow", async () => {
    await using t = await setup();
    const { queue, service, written } = await plant(t);
    t.logs.expectLog({
      logger: "persistence",
      level: "error",
      message: "Dropped bad tick 0: cell 1 is invalid*",
    });
    const persistence = service({ maxBatchSize: 1 }, { deadLetters: undefined });
    await queue.offer(tick(0, { cells: [create(CellSchema, { cellId: 1 })] }));
    await queue.offer(tick(0));
    await persistence.start();
    await queue.whenEmpty();
    expect(await written()).toEqual([0]);
  });
});

describe("MetadataPersistenceService", () => {
  const metadata = create(SimulationMetadataSchema, {
    simulationRunId: runId,
    initialSeed: 5n,
    samplingInterval: 10,
  });

  async function metadataPlant(t: TestContext) {
    const { storage, topics } = await plant(t);
    const topic = await topics.writer(MetadataInfoSchema, { topic: "metadata-topic" });
    const reader = await topics.reader(MetadataInfoSchema, { topic: "metadata-topic", group: "test", runId });
    return { storage, topic, reader, queue: new MetadataQueue() };
  }

  it("writes metadata and announces it; the same again is not announced, changed metadata is", async () => {
    await using t = await setup();
    const { storage, topic, reader, queue } = await metadataPlant(t);
    await using service = new MetadataPersistenceService("metadata", { queue, storage, topic });
    await service.start();
    for (const declaredEndTick of [90n, 90n, 190n]) await queue.offer({ ...metadata, declaredEndTick });
    await queue.whenEmpty();
    await service.stop();
    const messages = await reader.pollMany(10, 0);
    expect(messages.map(({ payload }) => [payload.simulationRunId, payload.storageKey])).toEqual([
      [runId, "run-1/metadata.pb"],
      [runId, "run-1/metadata.pb"],
    ]);
    expect(await storage.readMessage("run-1/metadata.pb", SimulationMetadataSchema)).toMatchObject({
      initialSeed: 5n,
      declaredEndTick: 190n,
    });
    expect(service.getMetrics()).toMatchObject({ metadata_written: 3 });
  });

  it("announces nothing while the write fails, and repeats an announcement that failed", async () => {
    await using t = await setup();
    const { storage, topic, reader, queue } = await metadataPlant(t);
    let failures = 2;
    const writeMessage = (...args: Parameters<FileSystemStorage["writeMessage"]>) =>
      failures-- > 0 ? Promise.reject(storageError()) : storage.writeMessage(...args);
    const broken = breakable(topic as TopicWriter<never>);
    const resources = { queue, storage: { writeMessage } as FileSystemStorage, topic: broken.topic };
    await using service = new MetadataPersistenceService("metadata", resources, fast);
    await queue.offer(metadata);
    await service.start();
    await expect.poll(() => service.getMetrics().notifications_failed).toBeGreaterThan(0);
    expect([service.getMetrics().write_errors, await reader.pollMany(10, 0)]).toEqual([2, []]);
    broken.mend();
    expect(await reader.pollMany(10, 5_000)).toHaveLength(1);
  });
});
