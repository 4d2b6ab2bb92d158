import type { Message } from "@bufbuild/protobuf";
import { isTallymanError } from "../../errors/index.ts";
import { MonitoredService } from "../../monitoring/index.ts";
import { type BackoffOptions, type Clock, retry, systemClock } from "../../runtime/index.ts";
import type { TopicWriter } from "../../topics/index.ts";
import { Announcer } from "./announcer.ts";
import type { QueuedBatch } from "./queued-batch.ts";
import { RecordFault } from "./record-format.ts";
import type { RecordQueue, TakeOptions } from "./record-queue.ts";

/** How failed writes and announcements are repeated. */
export interface RetrySettings {
  /** Tries after the first. Default 3. */
  readonly maxRetries: number;
  /** Delay before the first of them; each further one is twice as long. Default 1,000. */
  readonly retryBackoffMs: number;
  /** No delay is longer. Default 30,000. */
  readonly retryBackoffMaxMs: number;
}

/** Defaults of {@link RetrySettings}. */
export const retryDefaults: RetrySettings = {
  maxRetries: 3,
  retryBackoffMs: 1_000,
  retryBackoffMaxMs: 30_000,
};

/** What a queue's consumer works with. */
export interface QueueConsumerResources<T, M extends Message> {
  readonly queue: RecordQueue<T>;
  readonly topic?: TopicWriter<M> | undefined;
  /** Default: the machine's clock. */
  readonly clock?: Clock | undefined;
}

/** Settled by writing them again: the storage's own trouble. */
const retryableCodes = ["STORAGE_FULL", "STORAGE_UNAVAILABLE", "TIMED_OUT"] as const;

/**
 * The loop that all writers behind a queue share: take a batch, persist it, announce it; repeat announcements
 * that failed; on stop, persist what is queued. A batch that could not be persisted goes back to the queue
 * before the service ends in ERROR. When the queue is closed and drained, the service stops by itself.
 */
export abstract class QueueConsumer<T, M extends Message> extends MonitoredService {
  protected readonly clock: Clock;
  protected readonly announcer: Announcer<M>;
  readonly #queue: RecordQueue<T>;
  readonly #take: TakeOptions;
  readonly #settings: RetrySettings;
  readonly #backoff: BackoffOptions;

  constructor(
    name: string,
    resources: QueueConsumerResources<T, M>,
    settings: { readonly take: TakeOptions; readonly retries: RetrySettings },
  ) {
    super(name);
    this.#queue = resources.queue;
    this.#take = settings.take;
    this.#settings = settings.retries;
    const { retryBackoffMs: initialMs, retryBackoffMaxMs: maxMs } = settings.retries;
    this.#backoff = { initialMs, maxMs, factor: 2, jitter: 0.2 };
    this.clock = resources.clock ?? systemClock;
    const { topic } = resources;
    this.announcer = new Announcer({
      service: name,
      topic,
      backoff: this.#backoff,
      errors: this.errors,
      clock: this.clock,
    });
  }

  /**
   * Makes a batch's records safe and settles or rejects them; what it leaves goes back to the queue.
   *
   * @param signal ends the waits between tries; undefined: one try only
   */
  protected abstract persist(batch: QueuedBatch<T>, signal: AbortSignal | undefined): Promise<void>;

  override getMetrics(): Readonly<Record<string, number>> {
    return {
      ...super.getMetrics(),
      notifications_sent: this.announcer.sent.value,
      notifications_failed: this.announcer.failed.value,
      notifications_pending: this.announcer.pending,
    };
  }

  /** False in state ERROR, and while files wait to be announced. */
  override isHealthy(): boolean {
    return super.isHealthy() && this.announcer.pending === 0;
  }

  protected override async runOnce(signal: AbortSignal): Promise<void> {
    await this.announcer.retryDue();
    const waitMs = this.announcer.dueInMs;
    using batch = await this.#queue.take({ ...this.#take, waitMs }, signal);
    if (batch) await this.persist(batch, signal);
    else if (this.#queue.isDrained) await this.#end(waitMs, signal);
  }

  /** A failed service leaves its records in the queue; one that stops persists what is there by now. */
  protected override async onStop(): Promise<void> {
    try {
      if (!this.failure) await this.#drain();
    } finally {
      await this.announcer.flush();
    }
  }

  /** Repeats an operation while it may still succeed; without a signal, tries once. */
  protected retrying<R>(
    operation: () => Promise<R>,
    signal: AbortSignal | undefined,
    isRetryable: (error: unknown) => boolean,
  ): Promise<R> {
    const attemptsMax = signal ? this.#settings.maxRetries + 1 : 1;
    return retry(operation, { attemptsMax, backoff: this.#backoff, isRetryable, signal, clock: this.clock });
  }

  /** Bounded by what is queued now: a producer that goes on must not keep a service from stopping. */
  async #drain(): Promise<void> {
    const { recordsMax } = this.#take;
    for (let left = this.#queue.waiting; left > 0; ) {
      using batch = await this.#queue.take({ recordsMax, batchTimeoutMs: 0, waitMs: 0 });
      if (!batch) return;
      left -= batch.records.length + batch.duplicates;
      await this.persist(batch, undefined);
    }
  }

  async #end(announceInMs: number, signal: AbortSignal): Promise<void> {
    if (this.announcer.pending === 0) void this.stop();
    else await this.clock.sleep(announceInMs, signal);
  }
}

/** True when the storage, not the records, is to blame: errors that Tallyman does not know count as its trouble. */
export function isStorageTrouble(error: unknown): boolean {
  if (error instanceof RecordFault) return false;
  return !isTallymanError(error) || retryableCodes.some((code) => isTallymanError(error, code));
}
