import type { DescMessage } from "@bufbuild/protobuf";
import { validateRunId } from "../../database/index.ts";
import { TallymanError } from "../../errors/index.ts";
import type { Monitorable, OperationalError } from "../../monitoring/index.ts";
import {
  type GivenOptions,
  required,
  resolveOptions,
  type Service,
  wholeNumber,
} from "../../runtime/index.ts";
import {
  BatchPersistence,
  type PersistenceOptions,
  type PersistenceResources,
  persistenceDefaults,
} from "./batch-persistence.ts";
import { jsonFormat, protobufFormat, type RecordFormat } from "./record-format.ts";
import { queueDefaults, RecordQueue, type RecordQueueOptions } from "./record-queue.ts";

/** What a batch writer works with: as a persistence service, but the queue is its own. */
export type BatchWriterResources = Omit<PersistenceResources<unknown>, "queue">;

/** Settings of a batch writer. */
export interface BatchWriterOptions<T> extends Omit<PersistenceOptions, "runId">, RecordQueueOptions {
  /** The run that the records belong to. */
  readonly runId: string;
  /** A record's sequence number: 0, samplingInterval, 2 × samplingInterval, … in any order, each once. */
  readonly sequenceOf: (record: T) => number;
  /** Distance between sequence numbers. Default 1. */
  readonly samplingInterval: number;
  /** Type of the records when they are protobuf messages. Default: none, they are written as JSON. */
  readonly schema?: DescMessage | undefined;
}

/**
 * Writes records of any kind as batch files and announces them: the producer's side of the pipeline for data
 * that is no simulation. Records are protobuf messages (`schema`), or else anything that JSON can hold.
 * Safe for concurrent use.
 *
 * @example
 * ```ts
 * const topic = await topics.writer(BatchInfoSchema, { topic: "sensor-batches" });
 * await using writer = new BatchWriter<Reading>("sensors", { storage, topic }, {
 *   runId: newRunId(),
 *   sequenceOf: (reading) => reading.sequence,
 * });
 * await writer.start();
 * for await (const reading of readings) await writer.write(reading);
 * await writer.close();
 * ```
 */
export class BatchWriter<T> implements Monitorable, AsyncDisposable {
  readonly #queue: RecordQueue<T>;
  readonly #persistence: BatchPersistence<T>;
  readonly #samplingInterval: number;

  /** @throws TallymanError INVALID_OPTION, RUN_ID_INVALID */
  constructor(name: string, resources: BatchWriterResources, given: BatchWriterGiven<T>) {
    const { runId, sequenceOf, samplingInterval, schema, recordsMax, bytesMax, ...persistence } =
      resolve(given);
    validateRunId(runId);
    const format = (schema ? protobufFormat(schema) : jsonFormat<T>()) as RecordFormat<T>;
    const facts = { runIdOf: () => runId, sequenceOf, bytesOf: memoryOf };
    this.#samplingInterval = samplingInterval;
    this.#queue = new RecordQueue<T>(facts, { recordsMax, bytesMax }, resources.clock);
    const queued = { ...resources, queue: this.#queue };
    this.#persistence = new BatchPersistence<T>(name, queued, { format, sequenceOf }, persistence);
  }

  /** The service behind the writer, for a service manager. */
  get service(): BatchPersistence<T> {
    return this.#persistence;
  }

  start(): Promise<void> {
    return this.#persistence.start();
  }

  /**
   * Hands a record over; waits while the writer holds as much as it may.
   *
   * @throws TallymanError ABORTED
   */
  write(record: T, signal?: AbortSignal): Promise<void> {
    return this.#queue.offer(record, { samplingInterval: this.#samplingInterval, signal });
  }

  /**
   * Writes and announces everything that was handed over, repeating what fails, and ends the writer.
   *
   * @throws the error that the writer failed with, or TallymanError INVALID_STATE when it was not started; what
   * it could not write is still held
   */
  async close(): Promise<void> {
    this.#queue.close();
    await hasEnded(this.#persistence);
    await this.stop();
    if (this.#persistence.failure) throw this.#persistence.failure;
    if (this.#queue.size > 0) throw notStarted(this.#persistence.name, this.#queue.size);
  }

  /** Writes what was handed over, and stops; it may be started again. Never rejects. */
  stop(): Promise<void> {
    return this.#persistence.stop();
  }

  getMetrics(): Readonly<Record<string, number>> {
    return { ...this.#queue.getMetrics(), ...this.#persistence.getMetrics() };
  }

  isHealthy(): boolean {
    return this.#persistence.isHealthy();
  }

  getErrors(): readonly OperationalError[] {
    return this.#persistence.getErrors();
  }

  clearErrors(): void {
    this.#persistence.clearErrors();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

/** Options of a batch writer as callers give them. */
export type BatchWriterGiven<T> = GivenOptions<BatchWriterOptions<T>> &
  Pick<BatchWriterOptions<T>, "runId" | "sequenceOf">;

const objectBytes = 64;
const fieldBytes = 24;

/** About what a record takes in memory: itself and its fields, nested ones by their number. */
function memoryOf(record: unknown): number {
  if (typeof record !== "object" || record === null) return valueBytes(record);
  if (record instanceof Uint8Array) return valueBytes(record);
  return Object.values(record).reduce<number>((sum, value) => sum + valueBytes(value), objectBytes);
}

function valueBytes(value: unknown): number {
  if (typeof value === "string") return fieldBytes + value.length;
  if (value instanceof Uint8Array) return objectBytes + value.length;
  if (typeof value !== "object" || value === null) return fieldBytes;
  return objectBytes + Object.keys(value).length * fieldBytes;
}

function resolve<T>(given: BatchWriterGiven<T>): Readonly<BatchWriterOptions<T>> {
  return resolveOptions<BatchWriterOptions<T>>(
    {
      ...persistenceDefaults,
      ...queueDefaults,
      runId: required,
      sequenceOf: required,
      samplingInterval: 1,
      schema: undefined,
    },
    given,
    { maxRetries: wholeNumber({ min: 0 }) },
  );
}

function hasEnded(service: Service): Promise<void> {
  const isAlive = () => service.state === "RUNNING" || service.state === "PAUSED";
  return new Promise((resolve) => {
    if (!isAlive()) return resolve();
    const unsubscribe = service.onStateChange(() => {
      if (isAlive()) return;
      unsubscribe();
      resolve();
    });
  });
}

function notStarted(name: string, records: number): TallymanError {
  return new TallymanError(
    "INVALID_STATE",
    `${name} holds ${records} records that it has not written: start() it before close().`,
    { details: { name, records } },
  );
}
