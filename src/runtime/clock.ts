import { setTimeout as sleepOnTimer } from "node:timers/promises";
import { abortedError } from "./abort.ts";

/** Node's timers hold 31 bits; a longer delay would fire at once. */
const timerMsMax = 2 ** 31 - 1;

/**
 * Time as the code sees it, so that tests can replace it.
 *
 * Wall time is for people and labels; durations are measured on the monotonic clock, which no operator can
 * set back. Neither is ever compared with a time stored in the database: that is the database's clock.
 */
export interface Clock {
  /** Wall time in milliseconds since the epoch. */
  now(): number;
  /** Milliseconds since an arbitrary moment; never runs backwards. */
  monotonicMs(): number;
  /**
   * Resolves after `ms`; `Infinity` waits for the signal alone.
   *
   * @throws TallymanError ABORTED as soon as the signal is aborted
   */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    let remainingMs = ms;
    for (; remainingMs > timerMsMax; remainingMs -= timerMsMax) {
      await sleepOnTimer(timerMsMax, undefined, { signal });
    }
    await sleepOnTimer(remainingMs, undefined, { signal });
  } catch (error) {
    throw signal?.aborted ? abortedError(signal) : error;
  }
}

/**
 * The machine's clock. Stateless: safe to share.
 *
 * @example
 * ```ts
 * const startedMs = systemClock.monotonicMs();
 * await work();
 * const tookMs = systemClock.monotonicMs() - startedMs;
 * ```
 */
export const systemClock: Clock = Object.freeze({
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep,
});
