import { create } from "@bufbuild/protobuf";
import {
  BatchInfoSchema,
  DeadLetterMessageSchema,
  type TickData,
  TickDataSchema,
} from "../../src/contracts/index.ts";
import { TallymanError } from "../../src/errors/index.ts";
import { type PersistenceOptions, PersistenceService, TickQueue } from "../../src/pipeline/index.ts";
import { FileSystemStorage } from "../../src/storage/index.ts";
import type { TestContext } from "../../src/testing/index.ts";
import { PostgresTopics, type TopicWriter } from "../../src/topics/index.ts";
import { runId } from "./pipeline.ts";

/** A tick of the run without cells or organisms, but for what is given. */
export function tick(number: number, more: Partial<TickData> = {}): TickData {
  return { ...create(TickDataSchema, { tickNumber: BigInt(number), simulationRunId: runId }), ...more };
}

/** A queue, and real storage and topics in a test's own folder and database, and what they hold. */
export async function plant(t: TestContext) {
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

/** Offers the ticks with these numbers, one after the other. */
export async function offerAll(
  queue: TickQueue,
  numbers: Iterable<number>,
  samplingInterval = 1,
): Promise<void> {
  for (const number of numbers) await queue.offer(tick(number), { samplingInterval });
}

/** A storage that fails so many times before it works; `attempts` counts all calls. */
export function failing(storage: FileSystemStorage, failures: number) {
  let attempts = 0;
  const writeBatch = (...args: Parameters<FileSystemStorage["writeBatch"]>) => {
    attempts++;
    if (attempts <= failures) return Promise.reject(storageError());
    return storage.writeBatch(...args);
  };
  return { storage: { writeBatch } as unknown as FileSystemStorage, attempts: () => attempts };
}

/** What a storage says that may be back soon. */
export function storageError(): TallymanError {
  return new TallymanError("STORAGE_UNAVAILABLE", "The disk is away.");
}

/** A topic whose next sends fail until it is mended. */
export function breakable<T extends TopicWriter<never>>(topic: T) {
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

/** Retries that do not let a test wait. */
export const fast = { retryBackoffMs: 1, retryBackoffMaxMs: 2 };
