import { TallymanError } from "../../errors/index.ts";
import { Counter, ErrorLog, type Monitorable, type OperationalError } from "../../monitoring/index.ts";
import {
  abortedError,
  type Clock,
  type Deferred,
  deferred,
  type GivenOptions,
  resolveOptions,
  systemClock,
  throwIfAborted,
  WakeUp,
} from "../../runtime/index.ts";
import { Lane, type QueuedRecord } from "./lane.ts";
import { QueuedBatch } from "./queued-batch.ts";

/** How large a queue may become. */
export interface RecordQueueOptions {
  /** Records at most, those that are being written included. Default 10,000. */
  readonly recordsMax: number;
  /** Bytes of memory at most, as estimated for each record. Default 64 MiB. */
  readonly bytesMax: number;
}

/** Defaults of {@link RecordQueueOptions}. */
export const queueDefaults: RecordQueueOptions = { recordsMax: 10_000, bytesMax: 64 * 1024 * 1024 };

/** What a queue must know about a record. */
export interface RecordFacts<T> {
  runIdOf(record: T): string;
  /** Its sequence number; NaN when records have none. */
  sequenceOf(record: T): number;
  /** Memory that it takes, about. */
  bytesOf(record: T): number;
}

/** How a record is offered. */
export interface OfferOptions {
  /** Distance between the sequence numbers of the record's run. Default 1. */
  readonly samplingInterval?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** When a batch is handed out. */
export interface TakeOptions {
  /** Records in it at most; as soon as so many are there, they are handed out. */
  readonly recordsMax: number;
  /** Fewer are handed out when the oldest has waited so long. */
  readonly batchTimeoutMs: number;
  /** Return with nothing after this time. Default: never. */
  readonly waitMs?: number;
}

interface Taker {
  readonly recordsMax: number;
  readonly wakeUp: WakeUp;
}

interface BlockedOffer<T> {
  readonly lane: Lane<T>;
  readonly entry: QueuedRecord<T>;
  readonly admitted: Deferred<void>;
}

/** Runs whose hand-outs are remembered; the oldest idle one is forgotten. */
const lanesMax = 1_000;

/**
 * Hands records from producers to competing writers inside one process, with back-pressure.
 *
 * Each run has a lane. A batch holds records of one lane, taken from its front in one step, so that competing
 * takers get neighbouring stretches and never an interleaved one. A record counts against the bounds until its
 * batch settles it: what is being written is still held. What a taker does not settle goes back to the front.
 * A sequence number is handed out once per run; what comes again is dropped and counted.
 *
 * @example
 * ```ts
 * await queue.offer(tick, { samplingInterval: 10, signal });
 * using batch = await queue.take({ recordsMax: 1_000, batchTimeoutMs: 5_000 }, signal);
 * if (batch) batch.settle(batch.records);
 * ```
 */
export class RecordQueue<T> implements Monitorable {
  readonly #facts: RecordFacts<T>;
  readonly #options: Readonly<RecordQueueOptions>;
  readonly #clock: Clock;
  readonly #lanes = new Map<string, Lane<T>>();
  readonly #takers = new Set<Taker>();
  readonly #blocked: BlockedOffer<T>[] = [];
  readonly #emptied = new Set<Deferred<void>>();
  readonly #errors = new ErrorLog();
  readonly #blockedOffers = new Counter();
  readonly #duplicates = new Counter();
  #records = 0;
  #bytes = 0;
  #closed = false;

  constructor(facts: RecordFacts<T>, options: GivenOptions<RecordQueueOptions> = {}, clock = systemClock) {
    this.#facts = facts;
    this.#options = resolveOptions<RecordQueueOptions>(queueDefaults, options);
    this.#clock = clock;
  }

  /** Records that wait to be handed out. */
  get waiting(): number {
    let waiting = 0;
    for (const lane of this.#lanes.values()) waiting += lane.entries.length;
    return waiting;
  }

  /** Records that wait or are being written. */
  get size(): number {
    return this.#records;
  }

  /** Memory of these, about. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Closed, and nothing left: no taker will ever get anything again. */
  get isDrained(): boolean {
    return this.#closed && this.#records === 0;
  }

  /**
   * Queues a record; waits while there is no room for it. Offers are admitted in their order. A record larger
   * than the whole bound is admitted alone.
   *
   * @throws TallymanError ABORTED, and the record is not queued; INVALID_STATE when the queue is closed;
   * INVALID_OPTION when the run's sampling interval is another one
   */
  async offer(record: T, { samplingInterval = 1, signal }: OfferOptions = {}): Promise<void> {
    throwIfAborted(signal);
    this.#refuseClosed();
    const lane = this.#laneOf(this.#facts.runIdOf(record), samplingInterval);
    const sequence = this.#facts.sequenceOf(record);
    const bytes = this.#facts.bytesOf(record);
    const entry = { record, sequence, bytes, queuedAtMs: this.#clock.monotonicMs() };
    if (this.#blocked.length === 0 && this.#fits(bytes)) this.#admit(lane, entry);
    else await this.#waitForRoom(lane, entry, signal);
  }

  /**
   * Waits for a batch: until one is full, or its oldest record has waited long enough, or producers wait for
   * room, or the queue is closed. The caller disposes of it; what it has not settled goes back.
   *
   * @returns undefined when `waitMs` passed, or the queue is drained
   * @throws TallymanError ABORTED
   */
  async take(options: TakeOptions, signal?: AbortSignal): Promise<QueuedBatch<T> | undefined> {
    const { recordsMax, batchTimeoutMs, waitMs = Number.POSITIVE_INFINITY } = options;
    const endMs = this.#clock.monotonicMs() + waitMs;
    const taker = { recordsMax, wakeUp: new WakeUp(this.#clock) };
    this.#takers.add(taker);
    try {
      for (;;) {
        throwIfAborted(signal);
        const nowMs = this.#clock.monotonicMs();
        const lane = this.#readyLane(recordsMax, nowMs - batchTimeoutMs);
        if (lane) return this.#handOut(lane, recordsMax);
        if (this.isDrained || nowMs >= endMs) return undefined;
        await taker.wakeUp.wait(Math.min(endMs, this.#oldestMs() + batchTimeoutMs) - nowMs, signal);
      }
    } finally {
      this.#takers.delete(taker);
    }
  }

  /** Refuses further offers, also those that wait; what is queued is handed out without delay. */
  close(): void {
    this.#closed = true;
    for (const { admitted } of this.#blocked.splice(0)) admitted.reject(closedError());
    this.#wakeTakers();
  }

  /**
   * Resolves when nothing waits and nothing is being written.
   *
   * @throws TallymanError ABORTED
   */
  async whenEmpty(signal?: AbortSignal): Promise<void> {
    throwIfAborted(signal);
    if (this.#records === 0) return;
    const emptied = deferred();
    const abort = () => signal && emptied.reject(abortedError(signal));
    signal?.addEventListener("abort", abort, { once: true });
    this.#emptied.add(emptied);
    try {
      await emptied.promise;
    } finally {
      this.#emptied.delete(emptied);
      signal?.removeEventListener("abort", abort);
    }
  }

  getMetrics(): Readonly<Record<string, number>> {
    return {
      queue_records: this.#records,
      queue_bytes: this.#bytes,
      queue_blocked_offers: this.#blockedOffers.value,
      duplicate_ticks: this.#duplicates.value,
      error_count: this.#errors.size,
    };
  }

  isHealthy(): boolean {
    return true;
  }

  getErrors(): readonly OperationalError[] {
    return this.#errors.list();
  }

  clearErrors(): void {
    this.#errors.clear();
  }

  #laneOf(runId: string, samplingInterval: number): Lane<T> {
    const known = this.#lanes.get(runId);
    if (known?.samplingInterval === samplingInterval) return known;
    if (known) throw intervalError(known, samplingInterval);
    if (this.#lanes.size >= lanesMax) this.#forgetIdleLane();
    const lane = new Lane<T>(runId, samplingInterval);
    this.#lanes.set(runId, lane);
    return lane;
  }

  #forgetIdleLane(): void {
    for (const lane of this.#lanes.values()) {
      const isBlocked = this.#blocked.some((offer) => offer.lane === lane);
      if (lane.entries.length + lane.held > 0 || isBlocked) continue;
      this.#lanes.delete(lane.runId);
      return;
    }
  }

  #fits(bytes: number): boolean {
    const { recordsMax, bytesMax } = this.#options;
    return this.#records === 0 || (this.#records < recordsMax && this.#bytes + bytes <= bytesMax);
  }

  #admit(lane: Lane<T>, entry: QueuedRecord<T>): void {
    this.#lanes.set(lane.runId, lane);
    lane.entries.push(entry);
    this.#records++;
    this.#bytes += entry.bytes;
    const { length } = lane.entries;
    for (const { recordsMax, wakeUp } of this.#takers)
      if (length === 1 || length >= recordsMax) wakeUp.notify();
  }

  async #waitForRoom(lane: Lane<T>, entry: QueuedRecord<T>, signal?: AbortSignal): Promise<void> {
    const offer = { lane, entry, admitted: deferred() };
    const abort = () => signal && this.#withdraw(offer, abortedError(signal));
    this.#blocked.push(offer);
    this.#blockedOffers.increment();
    this.#wakeTakers();
    signal?.addEventListener("abort", abort, { once: true });
    try {
      await offer.admitted.promise;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  #withdraw(offer: BlockedOffer<T>, error: Error): void {
    const at = this.#blocked.indexOf(offer);
    if (at < 0) return;
    this.#blocked.splice(at, 1);
    offer.admitted.reject(error);
    this.#admitBlocked();
  }

  #admitBlocked(): void {
    for (let next = this.#blocked[0]; next && this.#fits(next.entry.bytes); next = this.#blocked[0]) {
      this.#blocked.shift();
      this.#admit(next.lane, next.entry);
      next.admitted.resolve();
    }
  }

  /** Of the lanes that have a batch to hand out, the one that has waited longest. */
  #readyLane(recordsMax: number, dueSinceMs: number): Lane<T> | undefined {
    const mustGo = this.#closed || this.#blocked.length > 0;
    let ready: Lane<T> | undefined;
    for (const lane of this.#lanes.values()) {
      if (lane.entries.length === 0) continue;
      const isReady = mustGo || lane.entries.length >= recordsMax || lane.oldestMs <= dueSinceMs;
      if (isReady && (!ready || lane.oldestMs < ready.oldestMs)) ready = lane;
    }
    return ready;
  }

  #oldestMs(): number {
    let oldestMs = Number.POSITIVE_INFINITY;
    for (const lane of this.#lanes.values()) oldestMs = Math.min(oldestMs, lane.oldestMs);
    return oldestMs;
  }

  #handOut(lane: Lane<T>, recordsMax: number): QueuedBatch<T> {
    const { fresh, duplicates } = lane.handOut(recordsMax);
    const batch = new QueuedBatch<T>(lane, fresh, duplicates.length, {
      settled: (entries) => this.#free(entries),
      putBack: (entries) => this.#putBack(lane, entries),
    });
    this.#duplicates.increment(duplicates.length);
    this.#free(duplicates);
    return batch;
  }

  #free(entries: readonly QueuedRecord<T>[]): void {
    this.#records -= entries.length;
    for (const { bytes } of entries) this.#bytes -= bytes;
    this.#admitBlocked();
    if (this.#records > 0) return;
    for (const emptied of this.#emptied) emptied.resolve();
    if (this.#closed) this.#wakeTakers();
  }

  #putBack(lane: Lane<T>, entries: readonly QueuedRecord<T>[]): void {
    lane.putBack(entries);
    this.#wakeTakers();
  }

  #wakeTakers(): void {
    for (const { wakeUp } of this.#takers) wakeUp.notify();
  }

  #refuseClosed(): void {
    if (this.#closed) throw closedError();
  }
}

function closedError(): TallymanError {
  return new TallymanError("INVALID_STATE", "The queue is closed: it takes no more records.");
}

function intervalError({ runId, samplingInterval }: Lane<unknown>, given: number): TallymanError {
  return new TallymanError(
    "INVALID_OPTION",
    `Run '${runId}' is sampled every ${samplingInterval} ticks in this queue, not every ${given}.`,
    { details: { runId, samplingInterval, given } },
  );
}
