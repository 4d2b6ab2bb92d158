import type { Database } from "../database/index.ts";
import { abortedError, logger, throwIfAborted, WakeUp } from "../runtime/index.ts";
import { type BatchCompletionCallback, type BatchMetadata, isFinished } from "./batch.ts";
import type { Hints } from "./hints.ts";
import { abortedTransactions, selectBatchesById } from "./sql/batch.ts";

const log = logger("commands.batches");

/** Longest time until a completion is noticed when its hint was lost. */
const pollIntervalMs = 1_000;

interface Watched {
  readonly batchId: string;
  readonly callback: BatchCompletionCallback;
  /** The transaction that creates the batch, as long as the batch may not be visible yet. */
  xid?: string;
}

/**
 * Notices that batches have completed, whoever completed them, and calls back once for each. One statement
 * asks for all watched batches, after a hint or a second; nothing is asked while nothing is watched.
 *
 * A callback is registered before the batch commits, for a fast worker may complete the batch before the
 * creator's COMMIT returns; when the creating transaction is rolled back, it is dropped.
 */
export class BatchWatcher {
  readonly #database: Database;
  readonly #hints: Hints;
  readonly #watched = new Set<Watched>();
  readonly #wakeUp = new WakeUp();
  readonly #stopped = new AbortController();
  readonly #calling = new Set<Promise<void>>();
  #loop: Promise<void> | undefined;

  constructor(database: Database, hints: Hints) {
    this.#database = database;
    this.#hints = hints;
  }

  /** Calls back when the batch has completed; the returned function ends the watch. */
  watch(
    batchId: string,
    callback: BatchCompletionCallback,
  ): { cancel(): void; createdBy(xid: string): void } {
    const watched: Watched = { batchId, callback };
    this.#watched.add(watched);
    return {
      cancel: () => void this.#watched.delete(watched),
      createdBy: (xid) => {
        watched.xid = xid;
      },
    };
  }

  /** Begins to look, unless it does already: call it when a watched batch may be visible. */
  start(): void {
    if (this.#stopped.signal.aborted || this.#watched.size === 0) return;
    this.#loop ??= this.#run();
  }

  /** Looks now instead of at the next poll. */
  notify(): void {
    this.#wakeUp.notify();
  }

  /**
   * Resolves when the batch has completed.
   *
   * @throws TallymanError ABORTED
   */
  async wait(batchId: string, signal?: AbortSignal): Promise<BatchMetadata> {
    throwIfAborted(signal);
    throwIfAborted(this.#stopped.signal);
    return new Promise((resolve, reject) => {
      const abort = (by: AbortSignal) => () => {
        watch.cancel();
        reject(abortedError(by));
      };
      const watch = this.watch(batchId, resolve);
      for (const source of [signal, this.#stopped.signal]) {
        source?.addEventListener("abort", abort(source), { once: true });
      }
      this.start();
      this.notify();
    });
  }

  /** Ends every watch; callbacks that are running finish first. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#watched.clear();
    await this.#loop;
    await Promise.all(this.#calling);
  }

  async #run(): Promise<void> {
    const unsubscribe = this.#database.listener.subscribe(this.#hints.batchChannel, () => this.notify());
    try {
      while (this.#watched.size > 0) {
        await this.#look().catch((error) =>
          log.debug("Could not look for completed batches, trying again", { reason: String(error) }),
        );
        if (this.#watched.size > 0) await this.#wakeUp.wait(pollIntervalMs, this.#stopped.signal);
      }
    } catch {
      // Only the wait throws, when the watcher is stopped.
    } finally {
      unsubscribe();
      this.#loop = undefined;
    }
  }

  async #look(): Promise<void> {
    const watched = [...this.#watched];
    const batches = await selectBatchesById(this.#database, [
      ...new Set(watched.map(({ batchId }) => batchId)),
    ]);
    const found = new Map(batches.map((batch) => [batch.batchId, batch]));
    for (const watch of watched) {
      const batch = found.get(watch.batchId);
      if (batch && isFinished(batch)) this.#call(watch, batch);
    }
    await this.#dropRolledBack(
      watched.filter(({ batchId, xid }) => xid !== undefined && !found.has(batchId)),
    );
  }

  async #dropRolledBack(invisible: readonly Watched[]): Promise<void> {
    if (invisible.length === 0) return;
    const aborted = await abortedTransactions(
      this.#database,
      invisible.map(({ xid }) => xid ?? ""),
    );
    for (const watched of invisible) if (aborted.has(watched.xid ?? "")) this.#watched.delete(watched);
  }

  #call(watched: Watched, batch: BatchMetadata): void {
    if (!this.#watched.delete(watched)) return;
    const calling = (async () => watched.callback(batch))().catch((error) =>
      log.error(`The completion callback of batch ${batch.batchId} failed: ${String(error)}`, { error }),
    );
    this.#calling.add(calling);
    void calling.then(() => this.#calling.delete(calling));
  }
}
