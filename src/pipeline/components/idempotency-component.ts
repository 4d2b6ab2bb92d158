import type { IdempotencyTracker } from "../../coordination/index.ts";
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

  /** Call it after the acknowledgement: before it, a crash would lose the batch. */
  async markProcessed(batchId: string): Promise<void> {
    await this.#tracker.markProcessed(this.#indexerClass, batchId).catch((error: unknown) => {
      log.debug("Batch not remembered as processed", { batchId, reason: String(error) });
    });
  }
}
