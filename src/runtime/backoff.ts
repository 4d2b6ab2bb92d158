import { throwIfAborted } from "./abort.ts";
import { type Clock, systemClock } from "./clock.ts";

/** How the delays between attempts grow. */
export interface BackoffOptions {
  /** Delay after the first attempt; greater than 0. */
  readonly initialMs: number;
  /** No delay is longer than this. */
  readonly maxMs: number;
  /** Each delay is the one before times this; 1 keeps it constant. */
  readonly factor: number;
  /** The share of a delay that is left to chance, 0 (none) to 1 (anything between nothing and all of it). */
  readonly jitter: number;
}

/**
 * The delay after the failed attempt number `attempt` (the first is 1). Pure but for `random`.
 *
 * @example
 * ```ts
 * backoffMs(3, { initialMs: 100, maxMs: 5_000, factor: 2, jitter: 0 }); // 400
 * ```
 */
export function backoffMs(
  attempt: number,
  options: BackoffOptions,
  random: () => number = Math.random,
): number {
  const grownMs = options.initialMs * options.factor ** (attempt - 1);
  const cappedMs = Math.min(grownMs, options.maxMs);
  return Math.round(cappedMs * (1 - options.jitter * random()));
}

/** When and how {@link retry} tries again. */
export interface RetryOptions {
  /** Attempts in all, the first included. */
  readonly attemptsMax: number;
  readonly backoff: BackoffOptions;
  /** False ends the retries: the error is thrown as it is. */
  isRetryable(error: unknown): boolean;
  /** Ends the wait between attempts, and keeps the next one from starting. */
  readonly signal?: AbortSignal | undefined;
  /** Default: the machine's clock. */
  readonly clock?: Clock | undefined;
}

/**
 * Runs an operation until it succeeds, fails for good, or has used up its attempts; then the last error is
 * thrown unchanged. Attempts never overlap.
 *
 * @throws TallymanError ABORTED when the signal ended it
 * @example
 * ```ts
 * await retry(() => connect(url), { attemptsMax: 5, backoff, isRetryable: isConnectionRefused, signal });
 * ```
 */
export async function retry<T>(
  operation: (attempt: number) => Promise<T>,
  options: RetryOptions,
): Promise<T> {
  const { attemptsMax, backoff, signal, clock = systemClock } = options;
  for (let attempt = 1; ; attempt++) {
    throwIfAborted(signal);
    try {
      return await operation(attempt);
    } catch (error) {
      if (attempt >= attemptsMax || !options.isRetryable(error)) throw error;
    }
    await clock.sleep(backoffMs(attempt, backoff), signal);
  }
}
