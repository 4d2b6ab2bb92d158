import { SequenceSet } from "../sequence-set.ts";

/** A record and what the queue must remember about it. */
export interface QueuedRecord<T> {
  readonly record: T;
  readonly sequence: number;
  readonly bytes: number;
  /** On the monotonic clock. */
  readonly queuedAtMs: number;
}

/** The records of one run, in the order in which they came. */
export class Lane<T> {
  readonly runId: string;
  readonly samplingInterval: number;
  readonly entries: QueuedRecord<T>[] = [];
  /** Records in batches that are not settled yet. */
  held = 0;
  /** Sequence numbers that were handed out and not put back. */
  readonly #handedOut: SequenceSet;

  constructor(runId: string, samplingInterval: number) {
    this.runId = runId;
    this.samplingInterval = samplingInterval;
    this.#handedOut = new SequenceSet(samplingInterval);
  }

  /** When the first record came; never, for an empty lane. */
  get oldestMs(): number {
    return this.entries[0]?.queuedAtMs ?? Number.POSITIVE_INFINITY;
  }

  /** Takes up to so many records from the front; those that were handed out before come apart. */
  handOut(recordsMax: number): { fresh: QueuedRecord<T>[]; duplicates: QueuedRecord<T>[] } {
    const fresh: QueuedRecord<T>[] = [];
    const duplicates: QueuedRecord<T>[] = [];
    const records = new Set<T>();
    for (const entry of this.entries.splice(0, recordsMax)) {
      const isFresh = !records.has(entry.record) && this.#handedOut.add(entry.sequence);
      (isFresh ? fresh : duplicates).push(entry);
      records.add(entry.record);
    }
    this.held += fresh.length;
    return { fresh, duplicates };
  }

  /** They are as if they had never been handed out. */
  putBack(entries: readonly QueuedRecord<T>[]): void {
    this.entries.splice(0, 0, ...entries);
    this.held -= entries.length;
    this.forget(entries);
  }

  /** Records with these sequence numbers may come again. */
  forget(entries: readonly QueuedRecord<T>[]): void {
    for (const { sequence } of entries) this.#handedOut.delete(sequence);
  }
}
