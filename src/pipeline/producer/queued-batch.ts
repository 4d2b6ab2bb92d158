import type { Lane, QueuedRecord } from "./lane.ts";

/** What a batch tells its queue. */
interface BatchOwner<T> {
  settled(entries: readonly QueuedRecord<T>[]): void;
  putBack(entries: readonly QueuedRecord<T>[]): void;
}

/**
 * Records of one run, handed to one writer. Each must be settled (it is safe now) or rejected (it went
 * elsewhere); disposing of the batch puts the others back to the front of the queue, so that whatever happens
 * to the writer, no record is lost.
 */
export class QueuedBatch<T> implements Disposable {
  readonly runId: string;
  readonly samplingInterval: number;
  /** In the order in which they were queued. */
  readonly records: readonly T[];
  /** How many records were left out because their sequence number was handed out before. */
  readonly duplicates: number;
  readonly #lane: Lane<T>;
  readonly #owner: BatchOwner<T>;
  readonly #open: Map<T, QueuedRecord<T>>;

  constructor(lane: Lane<T>, entries: readonly QueuedRecord<T>[], duplicates: number, owner: BatchOwner<T>) {
    this.runId = lane.runId;
    this.samplingInterval = lane.samplingInterval;
    this.records = entries.map(({ record }) => record);
    this.duplicates = duplicates;
    this.#lane = lane;
    this.#owner = owner;
    this.#open = new Map(entries.map((entry) => [entry.record, entry]));
  }

  /** These records are safe: the queue forgets them, not their numbers. */
  settle(records: readonly T[]): void {
    const entries = this.#close(records);
    this.#lane.held -= entries.length;
    this.#owner.settled(entries);
  }

  /** These records were given up: others with their numbers may come. */
  reject(records: readonly T[]): void {
    const entries = this.#close(records);
    this.#lane.held -= entries.length;
    this.#lane.forget(entries);
    this.#owner.settled(entries);
  }

  [Symbol.dispose](): void {
    if (this.#open.size === 0) return;
    const entries = [...this.#open.values()];
    this.#open.clear();
    this.#owner.putBack(entries);
  }

  #close(records: readonly T[]): QueuedRecord<T>[] {
    const entries = records.flatMap((record) => this.#open.get(record) ?? []);
    for (const { record } of entries) this.#open.delete(record);
    return entries;
  }
}
