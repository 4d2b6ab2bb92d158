import type { Database } from "../database/index.ts";
import { abortedError, deferred, logger, sleep, throwIfAborted, WakeUp } from "../runtime/index.ts";
import type { BatchCompletionCallback, BatchMetadata } from "./batch.ts";
import type { Hints } from "./hints.ts";
import { endedTransactions, selectFinished } from "./sql/batch.ts";

const log = logger("commands.batches");

/** Longest time until a completion is noticed when its hint was lost. */
const pollIntervalMs = 1_000;
/** Hints that come closer together are answered by one look: thousands of small batches may end at once. */
const lookIntervalMs = 10;

interface Watched {
  readonly batchId: string;
  readonly callback: BatchCompletionCallback;
  /** Tells a waiter that the watch has ended without a completion. */
  readonly onStop?: () => void;
  /** The transaction that creates the batch, until it is known to have committed. */
  xid?: string | undefined;
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

  /** How many callbacks and waits there are. */
  get size(): number {
    return this.#watched.size;
  }

  /** Calls back when the batch has completed. */
  watch(
    batchId: string,
    callback: BatchCompletionCallback,
    onStop?: () => void,
  ): { cancel(): void; createdBy(xid: string): void } {
    const watched: Watched = { batchId, callback, ...(onStop && { onStop }) };
    this.#watched.add(watched);
    return {
      cancel: () => void this.#watched.delete(watched),
      // A transaction that is tried again has another id, and its watch may have been dropped with the first.
      createdBy: (xid) => {
        watched.xid = xid;
        this.#watched.add(watched);
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
    const { promise, resolve, reject } = deferred<BatchMetadata>();
    const watch = this.watch(batchId, resolve, () => reject(abortedError(this.#stopped.signal)));
    const abort = () => reject(abortedError(signal as AbortSignal));
    signal?.addEventListener("abort", abort, { once: true });
    this.start();
    this.notify();
    try {
      return await promise;
    } finally {
      watch.cancel();
      signal?.removeEventListener("abort", abort);
    }
  }

  /** Ends every watch; callbacks that are running finish first. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    const ended = [...this.#watched];
    this.#watched.clear();
    for (const { onStop } of ended) onStop?.();
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
        if (this.#watched.size === 0) break;
        await sleep(lookIntervalMs, this.#stopped.signal);
        await this.#wakeUp.wait(pollIntervalMs, this.#stopped.signal);
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
    const batchIds = new Set(watched.map(({ batchId }) => batchId));
    const finished = await selectFinished(this.#database, [...batchIds]);
    const found = new Map(finished.map((batch) => [batch.batchId, batch]));
    for (const watch of watched) {
      const batch = found.get(watch.batchId);
      if (batch) this.#call(watch, batch);
    }
    await this.#dropRolledBack(watched.filter(({ xid }) => xid !== undefined));
  }

  async #dropRolledBack(uncertain: readonly Watched[]): Promise<void> {
    if (uncertain.length === 0) return;
    const ended = await endedTransactions(
      this.#database,
      uncertain.map(({ xid }) => xid ?? ""),
    );
    for (const watched of uncertain) {
      const outcome = ended.get(watched.xid ?? "");
      if (outcome === "aborted") this.#watched.delete(watched);
      if (outcome === "committed") watched.xid = undefined;
    }
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
