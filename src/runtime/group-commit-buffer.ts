import { TallymanError } from "../errors/index.ts";
import { abortedError, throwIfAborted } from "./abort.ts";
import { type Clock, systemClock } from "./clock.ts";
import { required, resolveOptions, wholeNumber } from "./options.ts";
import { deferred } from "./wait.ts";

/** Settings of a {@link GroupCommitBuffer}. */
export interface GroupCommitBufferOptions<Item, Outcome> {
  /**
   * Commits a group; `outcomes[i]` belongs to `items[i]`, and an Error among them rejects that item alone. A
   * rejection rejects the whole group. Called with 1 to `itemsMax` items, never twice at the same time.
   */
  flush(items: readonly Item[]): Promise<readonly (Outcome | Error)[]>;
  /** A group of this size is flushed at once, and no group is larger. */
  readonly itemsMax: number;
  /** How long the oldest item of a smaller group waits for company; 0 flushes on the next timer tick. */
  readonly delayMs: number;
  /** Accepted items without an outcome, those of the running flush included; at least `itemsMax`. */
  readonly pendingMax: number;
  /** Default: the machine's clock. */
  readonly clock?: Clock;
}

interface Entry<Item, Outcome> {
  readonly item: Item;
  /** Called once, with the outcome or an error in its place. */
  settle: (outcome: Outcome | Error) => void;
  /** The monotonic moment at which waiting for company ends. */
  dueMs: number;
}

/**
 * Gathers items that many callers add one by one and commits them in groups, one flush at a time: while a
 * group commits, the next one gathers, so the slower the commit, the larger (and cheaper per item) the group.
 *
 * Items are flushed in the order of their `add()`, each settles exactly once, and at most `pendingMax` are
 * held: further `add()` calls wait their turn outside.
 *
 * @example
 * ```ts
 * await using completions = new GroupCommitBuffer({
 *   flush: (ids: readonly string[]) => completeCommands(database, ids),
 *   itemsMax: 500,
 *   delayMs: 5,
 *   pendingMax: 2_000,
 * });
 * const outcome = await completions.add(commandId);
 * ```
 */
export class GroupCommitBuffer<Item, Outcome> {
  readonly #options: Readonly<Required<GroupCommitBufferOptions<Item, Outcome>>>;
  /** Calls of add() that found the buffer full. */
  #waiting: Entry<Item, Outcome>[] = [];
  #gathered: Entry<Item, Outcome>[] = [];
  #inFlight: Entry<Item, Outcome>[] = [];
  #delay: AbortController | undefined;
  #isStopping = false;
  #stopped: Promise<void> | undefined;

  /** @throws TallymanError INVALID_OPTION */
  constructor(options: GroupCommitBufferOptions<Item, Outcome>) {
    this.#options = resolveOptions<Required<GroupCommitBufferOptions<Item, Outcome>>>(
      { flush: required, itemsMax: required, delayMs: required, pendingMax: required, clock: systemClock },
      options,
      {
        delayMs: wholeNumber({ min: 0 }),
        pendingMax: (value, { itemsMax }) => wholeNumber({ min: itemsMax })(value),
      },
    );
  }

  /** Accepted items without an outcome; never above `pendingMax`. */
  get pending(): number {
    return this.#gathered.length + this.#inFlight.length;
  }

  /**
   * Adds an item and resolves to its outcome. While the buffer is full the call waits for room.
   *
   * Aborting the signal withdraws an item whose flush has not begun; ABORTED therefore means that the item
   * was not flushed. Once its flush runs, the outcome is reported, whatever the signal says.
   *
   * @throws TallymanError INVALID_STATE after stop(), ABORTED; or the item's own error, or its group's
   */
  async add(item: Item, signal?: AbortSignal): Promise<Outcome> {
    throwIfAborted(signal);
    const { promise, resolve, reject } = deferred<Outcome>();
    const entry = this.#put(item, (outcome) =>
      outcome instanceof Error ? reject(outcome) : resolve(outcome),
    );
    const withdraw = () => signal && this.#withdraw(entry, signal);
    signal?.addEventListener("abort", withdraw, { once: true });
    try {
      return await promise;
    } finally {
      signal?.removeEventListener("abort", withdraw);
    }
  }

  /**
   * As {@link add}, for those who add a great many: calls `settle` once with the outcome, or with the error,
   * and costs no promise. `settle` must not throw.
   *
   * @throws TallymanError INVALID_STATE after stop()
   */
  post(item: Item, settle: (outcome: Outcome | Error) => void): void {
    this.#put(item, settle);
  }

  /** Flushes without delay; resolves when every item added before has its outcome. Never rejects. */
  async flush(): Promise<void> {
    const present = [...this.#waiting, ...this.#gathered, ...this.#inFlight];
    for (const entry of present) entry.dueMs = Number.NEGATIVE_INFINITY;
    const ends = present.map(endOf);
    this.#advance();
    await Promise.all(ends);
  }

  /**
   * Refuses further items, flushes those added before, and resolves when all have their outcome. Safe to call
   * twice. Never rejects: failures belong to the callers of add().
   */
  stop(): Promise<void> {
    this.#isStopping = true;
    this.#stopped ??= this.flush();
    return this.#stopped;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #put(item: Item, settle: (outcome: Outcome | Error) => void): Entry<Item, Outcome> {
    if (this.#isStopping)
      throw new TallymanError("INVALID_STATE", "The buffer is stopped: add() is refused.");
    const entry = { item, settle, dueMs: Number.POSITIVE_INFINITY };
    this.#waiting.push(entry);
    this.#advance();
    return entry;
  }

  /** Takes every step that the present state allows; called whenever the state has changed. */
  #advance(): void {
    this.#accept();
    const oldest = this.#gathered[0];
    if (!oldest || this.#inFlight.length > 0) return;
    const { itemsMax, clock } = this.#options;
    const remainingMs = oldest.dueMs - clock.monotonicMs();
    if (this.#gathered.length >= itemsMax || remainingMs <= 0) void this.#flushGroup();
    else this.#advanceAfter(remainingMs);
  }

  #accept(): void {
    const { pendingMax, delayMs, clock } = this.#options;
    if (this.#waiting.length === 0 || this.pending >= pendingMax) return;
    const dueMs = clock.monotonicMs() + delayMs;
    while (this.pending < pendingMax) {
      const entry = this.#waiting.shift();
      if (!entry) break;
      entry.dueMs = Math.min(entry.dueMs, dueMs);
      this.#gathered.push(entry);
    }
  }

  #advanceAfter(ms: number): void {
    if (this.#delay) return;
    const delay = new AbortController();
    this.#delay = delay;
    const end = () => {
      if (this.#delay !== delay) return;
      this.#delay = undefined;
      this.#advance();
    };
    this.#options.clock.sleep(ms, delay.signal).then(end, () => {});
  }

  #cancelDelay(): void {
    const delay = this.#delay;
    this.#delay = undefined;
    delay?.abort();
  }

  async #flushGroup(): Promise<void> {
    this.#cancelDelay();
    const group = this.#gathered.splice(0, this.#options.itemsMax);
    this.#inFlight = group;
    const outcomeAt = await this.#commit(group.map((entry) => entry.item));
    this.#inFlight = [];
    for (const [index, entry] of group.entries()) entry.settle(outcomeAt(index));
    this.#advance();
  }

  /** Runs the flush and returns each item's outcome, or the error in its place. */
  async #commit(items: readonly Item[]): Promise<(index: number) => Outcome | Error> {
    try {
      const outcomes = await this.#options.flush(items);
      refuseOtherCount(outcomes.length, items.length);
      return (index) => outcomes[index] as Outcome | Error;
    } catch (error) {
      const failure = error instanceof Error ? error : new Error(String(error), { cause: error });
      return () => failure;
    }
  }

  #withdraw(entry: Entry<Item, Outcome>, signal: AbortSignal): void {
    if (this.#inFlight.includes(entry)) return;
    this.#waiting = this.#waiting.filter((other) => other !== entry);
    this.#gathered = this.#gathered.filter((other) => other !== entry);
    entry.settle(abortedError(signal));
    if (this.#gathered.length === 0) this.#cancelDelay();
    this.#advance();
  }
}

/** Resolves when the entry has its outcome. */
function endOf<Item, Outcome>(entry: Entry<Item, Outcome>): Promise<void> {
  const { settle } = entry;
  return new Promise((resolve) => {
    entry.settle = (outcome) => {
      settle(outcome);
      resolve();
    };
  });
}

/** Without this check an outcome too few would resolve its item to undefined: a loss nobody sees. */
function refuseOtherCount(outcomes: number, items: number): void {
  if (outcomes === items) return;
  throw new TallymanError("INTERNAL", `The flush returned ${outcomes} outcomes for ${items} items.`, {
    details: { outcomes, items },
  });
}
