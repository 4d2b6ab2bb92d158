import type { IdempotencyTracker } from "../../coordination/index.ts";
import { pipelined, type Transaction } from "../../database/index.ts";
import { TallymanError } from "../../errors/index.ts";
import { logger } from "../../runtime/index.ts";

const log = logger("pipeline.idempotency");

/**
 * Spares the reading of files that were processed before. It only saves work: effects are exactly-once
 * by ledger or by key, so a tracker that fails is no reason to stop. Belongs to one indexer instance.
 */
export class IdempotencyComponent {
  readonly #tracker: IdempotencyTracker;
  readonly #indexerClass: string;

  constructor(tracker: IdempotencyTracker, indexerClass: string) {
    if (!tracker) throw new TallymanError("INVALID_OPTION", "The idempotency tracker must be given.");
    if (!indexerClass?.trim())
      throw new TallymanError("INVALID_OPTION", "The indexer class must have a name.");
    this.#tracker = tracker;
    this.#indexerClass = indexerClass;
  }

  /** False also when the tracker can't tell. */
  async isProcessed(batchId: string): Promise<boolean> {
    return this.#tracker.isProcessed(this.#indexerClass, batchId).catch((error: unknown) => {
      log.debug("Can't tell whether a batch is processed, assuming not", { batchId, reason: String(error) });
      return false;
    });
  }

  /** Whether {@link markWith} does the marking, so that there is nothing left to do after the commit. */
  get isTransactional(): boolean {
    return this.#tracker.isTransactional ?? false;
  }

  /**
   * Marks batches in the transaction that writes their rows: whoever removes the rows later finds the marks as well.
   * Does nothing with a tracker that would not share the transaction's fate.
   *
   * @throws what the database throws: the transaction is over then
   */
  async markWith(tx: Transaction, batchIds: readonly string[]): Promise<void> {
    if (!this.isTransactional) return;
    // In one order everywhere, so that instances with the same batches do not wait for each other.
    const mark = (batchId: string) => this.#tracker.markProcessed(this.#indexerClass, batchId, { tx });
    await pipelined(...batchIds.toSorted().map(mark));
  }

  /** Call it after the acknowledgement: before it, a crash would lose the batch. */
  async markProcessed(batchId: string): Promise<void> {
    await this.#tracker.markProcessed(this.#indexerClass, batchId).catch((error: unknown) => {
      log.debug("Batch not remembered as processed", { batchId, reason: String(error) });
    });
  }
}
