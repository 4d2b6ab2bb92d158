import type { RetryTracker } from "../../coordination/index.ts";
import { TallymanError } from "../../errors/index.ts";
import { logger } from "../../runtime/index.ts";

const log = logger("pipeline.dlq");

/** Where dead letters go, as far as the component must know. */
export interface DeadLetterRoom {
  /** Letters that it may hold. */
  readonly capacity: number;
  /** Letters that it holds. */
  count(): Promise<number>;
}

/** What the component decides by. */
export interface DlqComponentOptions {
  readonly retryTracker: RetryTracker;
  readonly room: DeadLetterRoom;
  /** Failures after which a file is still tried again. */
  readonly maxRetries: number;
  /** Names the indexer class: classes that share a tracker do not share counts. */
  readonly indexerClass: string;
}

/**
 * Decides when a file is poison: it failed more than `maxRetries` times, counted over all instances that
 * share the tracker, and there is room for one more dead letter. A tracker or a room that fails never
 * condemns a file. Belongs to one indexer instance.
 */
export class DlqComponent {
  readonly #options: DlqComponentOptions;

  constructor(options: DlqComponentOptions) {
    if (!(options.maxRetries > 0)) throw new TallymanError("INVALID_OPTION", "maxRetries must be positive.");
    this.#options = options;
  }

  /** Counts a failure; true when it is one too many. */
  async shouldMoveToDlq(storageKey: string): Promise<boolean> {
    const { retryTracker, maxRetries } = this.#options;
    try {
      return (await retryTracker.incrementAndGetRetryCount(this.#idOf(storageKey))) > maxRetries;
    } catch (error) {
      log.debug("Failure not counted, trying again", { storageKey, reason: String(error) });
      return false;
    }
  }

  /**
   * Refuses one letter more than there is room for.
   *
   * @throws TallymanError DLQ_FULL
   */
  async refuseWhenFull(): Promise<void> {
    const { room } = this.#options;
    const count = await room.count();
    if (count < room.capacity) return;
    throw new TallymanError(
      "DLQ_FULL",
      `The dead-letter queue holds ${count} letters, its capacity. Re-drive or delete some, or raise the capacity.`,
      { details: { count, capacity: room.capacity } },
    );
  }

  /** How often the file has failed. */
  getRetryCount(storageKey: string): Promise<number> {
    return this.#options.retryTracker.getRetryCount(this.#idOf(storageKey)).catch(() => 0);
  }

  /** Remembers that the file was given up. */
  async moved(storageKey: string): Promise<void> {
    await this.#options.retryTracker.markMovedToDlq(this.#idOf(storageKey)).catch((error: unknown) => {
      log.debug("Not remembered as moved", { storageKey, reason: String(error) });
    });
  }

  /** The file was processed: its failures are forgotten. */
  async resetRetryCount(storageKey: string): Promise<void> {
    await this.#options.retryTracker.resetRetryCount(this.#idOf(storageKey)).catch((error: unknown) => {
      log.debug("Failures not forgotten", { storageKey, reason: String(error) });
    });
  }

  #idOf(storageKey: string): string {
    const runId = storageKey.slice(0, storageKey.indexOf("/"));
    return retryId(this.#options.indexerClass, runId, storageKey.slice(storageKey.lastIndexOf("/") + 1));
  }
}

/** Names a file's failures in the tracker. */
export function retryId(indexerClass: string, runId: string, filename: string): string {
  return `${indexerClass}/${runId}/${filename}`;
}
