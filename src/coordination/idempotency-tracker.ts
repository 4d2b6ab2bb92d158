import type { WriteOptions } from "./batch-coordinator.ts";
import { DatabaseCapability } from "./database-capability.ts";
import { isProcessed, markProcessed } from "./sql/processed-batches.ts";

/**
 * Remembers which batches were processed, so that a redelivered one is not read again. It saves work;
 * it is not what makes effects exactly-once.
 */
export interface IdempotencyTracker {
  /** Whether a mark joins the transaction that it is given, and its fate. Default no: then marks come after the commit. */
  readonly isTransactional?: boolean;
  isProcessed(indexerClass: string, batchId: string): Promise<boolean>;
  markProcessed(indexerClass: string, batchId: string, options?: WriteOptions): Promise<void>;
}

/** Remembers in the run's database: shared by all instances and kept over restarts. */
export class DatabaseIdempotencyTracker extends DatabaseCapability implements IdempotencyTracker {
  readonly isTransactional = true;

  isProcessed(indexerClass: string, batchId: string): Promise<boolean> {
    return this.read((executor) => isProcessed(executor, indexerClass, batchId), false);
  }

  markProcessed(indexerClass: string, batchId: string, { tx }: WriteOptions = {}): Promise<void> {
    return this.write((executor) => markProcessed(executor, indexerClass, [batchId]), tx);
  }
}

/** Remembers in this process: for one instance, and for tests. Forgets the oldest beyond its bound. */
export class InMemoryIdempotencyTracker implements IdempotencyTracker {
  readonly #processed = new Set<string>();
  readonly #entriesMax: number;

  /** @param entriesMax how many batches to remember */
  constructor(entriesMax = 100_000) {
    this.#entriesMax = entriesMax;
  }

  async isProcessed(indexerClass: string, batchId: string): Promise<boolean> {
    return this.#processed.has(keyOf(indexerClass, batchId));
  }

  async markProcessed(indexerClass: string, batchId: string): Promise<void> {
    this.#processed.add(keyOf(indexerClass, batchId));
    if (this.#processed.size <= this.#entriesMax) return;
    const [oldest] = this.#processed;
    if (oldest !== undefined) this.#processed.delete(oldest);
  }
}

function keyOf(indexerClass: string, batchId: string): string {
  return JSON.stringify([indexerClass, batchId]);
}
