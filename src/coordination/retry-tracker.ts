import type { Database } from "../database/index.ts";
import type { WriteOptions } from "./batch-coordinator.ts";
import { incrementRetries, markMovedToDlq, readRetries, resetRetries } from "./sql/retry-counts.ts";

/**
 * Counts how often a message has failed, over all the consumers that share the tracker. It only counts:
 * how many failures are too many is each service's own policy.
 */
export interface RetryTracker {
  /** Counts one more failure; returns how many there are now. */
  incrementAndGetRetryCount(messageId: string): Promise<number>;
  /** How often the message has failed; 0 when it never did. */
  getRetryCount(messageId: string): Promise<number>;
  /** Remembers that the message was given up. */
  markMovedToDlq(messageId: string): Promise<void>;
  /** Forgets the failures: the message was processed, or is to be tried afresh. */
  resetRetryCount(messageId: string): Promise<void>;
}

/**
 * Counts in the database: shared by all instances and kept over restarts.
 *
 * @example
 * ```ts
 * const tracker = new DatabaseRetryTracker(database);
 * if ((await tracker.incrementAndGetRetryCount(key)) > 3) await moveToDlq(key);
 * ```
 */
export class DatabaseRetryTracker implements RetryTracker {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  incrementAndGetRetryCount(messageId: string): Promise<number> {
    return incrementRetries(this.#database, messageId);
  }

  getRetryCount(messageId: string): Promise<number> {
    return readRetries(this.#database, messageId);
  }

  markMovedToDlq(messageId: string): Promise<void> {
    return markMovedToDlq(this.#database, messageId);
  }

  resetRetryCount(messageId: string): Promise<void> {
    return this.resetRetryCounts([messageId]);
  }

  /** {@link resetRetryCount} for many messages in one statement. */
  resetRetryCounts(messageIds: readonly string[], { tx }: WriteOptions = {}): Promise<void> {
    return resetRetries(tx ? this.#database.join(tx) : this.#database, messageIds);
  }
}

/** Counts in this process: for one process, and for tests. Forgets the oldest beyond its bound. */
export class InMemoryRetryTracker implements RetryTracker {
  readonly #retries = new Map<string, number>();
  readonly #entriesMax: number;

  /** @param entriesMax how many messages to remember */
  constructor(entriesMax = 100_000) {
    this.#entriesMax = entriesMax;
  }

  async incrementAndGetRetryCount(messageId: string): Promise<number> {
    const retries = (this.#retries.get(messageId) ?? 0) + 1;
    this.#retries.set(messageId, retries);
    const [oldest] = this.#retries.keys();
    if (this.#retries.size > this.#entriesMax && oldest !== undefined) this.#retries.delete(oldest);
    return retries;
  }

  async getRetryCount(messageId: string): Promise<number> {
    return this.#retries.get(messageId) ?? 0;
  }

  async markMovedToDlq(): Promise<void> {}

  async resetRetryCount(messageId: string): Promise<void> {
    this.#retries.delete(messageId);
  }
}
