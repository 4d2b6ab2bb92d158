import { create } from "@bufbuild/protobuf";
import { type BatchInfo, BatchInfoSchema, type DeadLetterMessage } from "../../contracts/index.ts";
import { Counter, latencyMetrics, TimedOperation } from "../../monitoring/index.ts";
import {
  crashPoint,
  type GivenOptions,
  isAbort,
  logger,
  type OptionDefaults,
  resolveOptions,
  wholeNumber,
} from "../../runtime/index.ts";
import type { BatchFile, BatchStorage } from "../../storage/index.ts";
import type { TopicWriter } from "../../topics/index.ts";
import type { Announcement } from "./announcer.ts";
import { DeadLetterBox } from "./dead-letter-box.ts";
import {
  isStorageTrouble,
  QueueConsumer,
  type QueueConsumerResources,
  type RetrySettings,
  retryDefaults,
} from "./queue-consumer.ts";
import type { QueuedBatch } from "./queued-batch.ts";
import { positionFault } from "./record-faults.ts";
import { encoded, RecordFault, type RecordFormat } from "./record-format.ts";
import { type Segment, segmentsOf } from "./segments.ts";

/** What a persistence service works with. */
export interface PersistenceResources<T> extends QueueConsumerResources<T, BatchInfo> {
  readonly storage: Pick<BatchStorage, "writeBatch">;
  /** Where records go that can't be written. Without it they are logged as errors, or stop the service. */
  readonly deadLetters?: TopicWriter<DeadLetterMessage> | undefined;
}

/** Settings of a persistence service. */
export interface PersistenceOptions extends RetrySettings {
  /** Records in a file at most. Default 1,000. */
  readonly maxBatchSize: number;
  /** A smaller file is written when its oldest record has waited so long. Default 5,000. */
  readonly batchTimeoutMs: number;
  /** Take records of this run only; others are bad. Default: of every run. */
  readonly runId?: string | undefined;
}

/** What kind of records are persisted. */
export interface PersistedKind<T> {
  readonly format: RecordFormat<T>;
  sequenceOf(record: T): number;
}

/** Defaults of {@link PersistenceOptions}. */
export const persistenceDefaults: OptionDefaults<PersistenceOptions> = {
  ...retryDefaults,
  maxBatchSize: 1_000,
  batchTimeoutMs: 5_000,
  runId: undefined,
};

/**
 * Writes queued records as batch files and announces them; see {@link PersistenceService}, which is this for
 * ticks, and {@link BatchWriter} for records of any kind.
 */
export class BatchPersistence<T> extends QueueConsumer<T, BatchInfo> {
  readonly #storage: Pick<BatchStorage, "writeBatch">;
  readonly #kind: PersistedKind<T>;
  readonly #options: Readonly<PersistenceOptions>;
  readonly #deadLetters: DeadLetterBox<T>;
  readonly #write = new TimedOperation({
    code: "WRITE_BATCH_FAILED",
    message: "Failed to write batch",
    errors: this.errors,
  });
  readonly #batches = new Counter();
  readonly #records = new Counter();
  readonly #bytes = new Counter();
  readonly #duplicates = new Counter();

  constructor(
    name: string,
    resources: PersistenceResources<T>,
    kind: PersistedKind<T>,
    given: GivenOptions<PersistenceOptions> = {},
  ) {
    const options = resolveOptions(persistenceDefaults, given, { maxRetries: wholeNumber({ min: 0 }) });
    const { maxBatchSize: recordsMax, batchTimeoutMs } = options;
    super(name, resources, { take: { recordsMax, batchTimeoutMs }, retries: options });
    this.#options = options;
    this.#storage = resources.storage;
    this.#kind = kind;
    this.#deadLetters = new DeadLetterBox(name, resources.deadLetters, kind, this.errors);
  }

  override getMetrics(): Readonly<Record<string, number>> {
    return {
      ...super.getMetrics(),
      write_errors: this.#write.failures.value,
      batches_written: this.#batches.value,
      ticks_written: this.#records.value,
      bytes_written: this.#bytes.value,
      duplicate_ticks: this.#duplicates.value,
      ticks_dead_lettered: this.#deadLetters.sent.value,
      ticks_dropped: this.#deadLetters.dropped.value,
      ...latencyMetrics("write_batch_latency", this.#write.latency),
    };
  }

  protected override async persist(batch: QueuedBatch<T>, signal: AbortSignal | undefined): Promise<void> {
    this.#duplicates.increment(batch.duplicates);
    const good: T[] = [];
    for (const record of batch.records) {
      const fault = this.#faultOf(record, batch);
      if (fault === undefined) good.push(record);
      else await this.#giveUpBad(batch, record, new TypeError(fault), signal);
    }
    await this.#persistAll(batch, good, signal);
  }

  async #persistAll(batch: QueuedBatch<T>, records: readonly T[], signal?: AbortSignal): Promise<void> {
    const { sequenceOf } = this.#kind;
    for (const segment of segmentsOf(records, sequenceOf, batch.samplingInterval))
      await this.#persistSegment(batch, segment, signal);
  }

  async #persistSegment(batch: QueuedBatch<T>, segment: Segment<T>, signal?: AbortSignal): Promise<void> {
    try {
      const file = await this.retrying(() => this.#writeFile(batch.runId, segment), signal, isStorageTrouble);
      crashPoint("persistence.after-write");
      batch.settle(segment.records);
      this.#count(file);
      await this.announcer.announce(announcementOf(file));
      crashPoint("persistence.after-announce");
    } catch (error) {
      if (isAbort(error)) throw error;
      if (error instanceof RecordFault) await this.#persistWithout(batch, segment, error, signal);
      else await this.#giveUpSegment(batch, segment, error, signal);
    }
  }

  #writeFile(runId: string, { first, last, records }: Segment<T>): Promise<BatchFile> {
    const { format } = this.#kind;
    const { schema } = format;
    return this.#write.run(`Run: ${runId}, ticks: ${first}-${last}`, () => {
      const bytes = encoded(records, format);
      return schema
        ? this.#storage.writeBatch(runId, first, last, bytes, { schema })
        : this.#storage.writeBatch(runId, first, last, bytes);
    });
  }

  /** One record can't be encoded: it alone goes, its neighbours stay. */
  async #persistWithout(
    batch: QueuedBatch<T>,
    { records }: Segment<T>,
    fault: RecordFault,
    signal?: AbortSignal,
  ) {
    const culprit = fault.record as T;
    await this.#giveUpBad(batch, culprit, fault, signal);
    await this.#persistAll(
      batch,
      records.filter((record) => record !== culprit),
      signal,
    );
  }

  async #giveUpBad(batch: QueuedBatch<T>, record: T, error: Error, signal?: AbortSignal): Promise<void> {
    const deadLetters = this.#deadLetters;
    const why = { runId: batch.runId, error, retryCount: 0 };
    if (deadLetters.isBound) await this.retrying(() => deadLetters.send([record], why), signal, always);
    else deadLetters.drop(record, error);
    batch.reject([record]);
  }

  /** The records are good, but the storage does not take them: without a dead-letter topic, nobody lets go of them. */
  async #giveUpSegment(batch: QueuedBatch<T>, segment: Segment<T>, error: unknown, signal?: AbortSignal) {
    const { records, first, last } = segment;
    const deadLetters = this.#deadLetters;
    if (!deadLetters.isBound) throw error;
    const why = { runId: batch.runId, error, retryCount: this.#options.maxRetries };
    await this.retrying(() => deadLetters.send(records, why), signal, always);
    batch.reject(records);
    logger(this.name).warn(
      `Dead-lettered ticks ${first} to ${last} of run ${batch.runId}: they could not be written.`,
      {
        error,
      },
    );
  }

  #faultOf(record: T, { runId, samplingInterval }: QueuedBatch<T>): string | undefined {
    const sequence = this.#kind.sequenceOf(record);
    const position = { runId, sequence, samplingInterval };
    return positionFault(position, this.#options.runId) ?? this.#kind.format.faultOf?.(record);
  }

  #count(file: BatchFile): void {
    this.#batches.increment();
    this.#records.increment(file.records);
    this.#bytes.increment(file.bytes);
  }
}

const always = () => true;

function announcementOf(file: BatchFile): Announcement<BatchInfo> {
  const message = create(BatchInfoSchema, {
    simulationRunId: file.runId,
    storageKey: file.key,
    tickStart: BigInt(file.tickStart),
    tickEnd: BigInt(file.tickEnd),
    writtenAtMs: BigInt(Math.round(file.writtenAtMs)),
    bytes: BigInt(file.bytes),
    crc: file.crc,
  });
  return { runId: file.runId, message, key: file.key };
}
