import { BatchAlreadyClaimedError, type BatchCoordinatorReady } from "../../coordination/index.ts";
import { logger } from "../../runtime/index.ts";

const log = logger("pipeline.batch-coordination");

/**
 * Coordination as an indexer uses it: a lost race is an answer, not an error. Belongs to one indexer
 * instance; not for concurrent use.
 *
 * @example
 * ```ts
 * const coordination = new BatchCoordinationComponent(coordinator.setIndexerClass("DummyIndexer"));
 * if (await coordination.tryClaim(filename, 0, 999)) await coordination.markCompleted(filename);
 * ```
 */
export class BatchCoordinationComponent {
  readonly #coordinator: BatchCoordinatorReady;

  constructor(coordinator: BatchCoordinatorReady) {
    this.#coordinator = coordinator;
  }

  /** Claims a file; false when another instance has it, which is normal and not logged. */
  async tryClaim(batchFilename: string, tickStart: number, tickEnd: number): Promise<boolean> {
    return this.#coordinator.tryClaim(batchFilename, tickStart, tickEnd).then(
      () => true,
      (error: unknown) => {
        if (error instanceof BatchAlreadyClaimedError) return false;
        throw error;
      },
    );
  }

  /** Marks a claimed file as completed. */
  async markCompleted(batchFilename: string): Promise<void> {
    await this.#coordinator.markCompleted(batchFilename);
  }

  /** Marks a claimed file as failed, and warns. */
  async markFailed(batchFilename: string, error: string): Promise<void> {
    await this.#coordinator.markFailed(batchFilename, error);
    log.warn(`Batch failed: ${batchFilename}`, { error });
  }

  /** The highest last tick among completed files, or -1. */
  getMaxCompletedTickEnd(): Promise<number> {
    return this.#coordinator.getMaxCompletedTickEnd();
  }
}
