import { TallymanError } from "../errors/index.ts";
import { linkedAbort, throwIfAborted } from "./abort.ts";
import { type Clock, systemClock } from "./clock.ts";

/**
 * Waits on the machine's clock. Code with a `clock` option calls `clock.sleep` instead.
 *
 * @throws TallymanError ABORTED as soon as the signal is aborted
 * @example
 * ```ts
 * await sleep(250, signal);
 * ```
 */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return systemClock.sleep(ms, signal);
}

/**
 * The promise's own outcome, or TIMED_OUT when it takes longer than `ms`. The work behind the promise goes
 * on: abort it where it can be aborted. Its late rejection is swallowed.
 *
 * @param what - names the operation in the message: "The connection to localhost:5432"
 * @throws TallymanError TIMED_OUT
 * @example
 * ```ts
 * await withTimeout(connect(url), 5_000, "The connection to localhost:5432");
 * ```
 */
export async function withTimeout<T>(
  promise: Promise<T>,
  ms: number,
  what: string,
  clock: Clock = systemClock,
): Promise<T> {
  const timer = new AbortController();
  try {
    return await Promise.race([promise, timeOut(clock.sleep(ms, timer.signal), ms, what)]);
  } finally {
    timer.abort();
  }
}

async function timeOut(elapsed: Promise<void>, ms: number, what: string): Promise<never> {
  await elapsed;
  throw new TallymanError("TIMED_OUT", `${what} did not finish within ${ms} ms.`, { details: { what, ms } });
}

/** A promise with its handles outside. The first call of `resolve` or `reject` decides. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(error: unknown): void;
}

/**
 * Makes a {@link Deferred}: the signal that one part of the code gives and another awaits.
 *
 * @example
 * ```ts
 * const ready = deferred<number>();
 * process.once("SIGUSR2", () => ready.resolve(Date.now()));
 * const signalledAtMs = await ready.promise;
 * ```
 */
export function deferred<T = void>(): Deferred<T> {
  let resolve!: Deferred<T>["resolve"];
  let reject!: Deferred<T>["reject"];
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}

/**
 * The wait of a polling loop that hints may cut short.
 *
 * `notify()` wakes the longest pending `wait()`; when nobody waits, the next `wait()` returns at once, and
 * many such notifications count as one: a hint says "look again", not how often. Any number of waiters.
 *
 * @example
 * ```ts
 * listener.on("notification", () => wakeUp.notify());
 * while (!signal.aborted) {
 *   await drain();
 *   await wakeUp.wait(pollIntervalMs, signal);
 * }
 * ```
 */
export class WakeUp {
  readonly #clock: Clock;
  readonly #waiters = new Set<() => void>();
  #notified = false;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** Wakes one waiter, or else the next. Never throws. */
  notify(): void {
    const [wake] = this.#waiters;
    if (wake) wake();
    else this.#notified = true;
  }

  /**
   * Resolves to true when notified, to false when `timeoutMs` passed without a hint.
   *
   * @throws TallymanError ABORTED as soon as the signal is aborted
   */
  async wait(timeoutMs: number, signal?: AbortSignal): Promise<boolean> {
    throwIfAborted(signal);
    if (this.#notified) {
      this.#notified = false;
      return true;
    }
    using timer = linkedAbort(signal);
    return await this.#waitForHint(this.#clock.sleep(timeoutMs, timer.signal), () => timer.abort());
  }

  #waitForHint(elapsed: Promise<void>, cancelTimer: () => void): Promise<boolean> {
    return new Promise((resolve, reject) => {
      // A waiter leaves the set in the same step that settles it, so no hint goes to one that is gone.
      const leave = (settle: () => void) => {
        this.#waiters.delete(wake);
        settle();
      };
      const wake = () =>
        leave(() => {
          resolve(true);
          cancelTimer();
        });
      this.#waiters.add(wake);
      elapsed.then(
        () => leave(() => resolve(false)),
        (error) => leave(() => reject(error)),
      );
    });
  }
}
