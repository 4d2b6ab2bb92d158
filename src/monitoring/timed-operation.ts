import { toTallymanError } from "../errors/index.ts";
import { Counter } from "./counter.ts";
import type { ErrorLog } from "./error-log.ts";
import { monotonicMs, type NowMs } from "./monotonic-ms.ts";
import type { OperationalErrorCode } from "./operational-error.ts";
import { SlidingWindowPercentiles } from "./sliding-window-percentiles.ts";

/** What to write down about an operation. */
export interface TimedOperationOptions {
  /** Code of the error-list entry that a failure leaves. */
  readonly code: OperationalErrorCode;
  /** Message of that entry, for example "Failed to claim batch". */
  readonly message: string;
  /** The component's error list. */
  readonly errors: ErrorLog;
  /** Window of the latency percentiles; 5 by default. */
  readonly windowSeconds?: number | undefined;
  /** Clock; the process's monotonic one by default. */
  readonly nowMs?: NowMs;
}

/**
 * Counts, times and reports one kind of operation, so that a wrapper's methods are one line each.
 *
 * A success leaves its latency. A failure leaves an entry in the error list and no latency, because a
 * refused connection that fails at once would make a broken component look fast. Expected outcomes (a claim
 * that another instance holds) are results, not failures: let the operation return them, and throw the
 * public error afterwards. Any number of runs may overlap.
 *
 * @example
 * ```ts
 * const claim = new TimedOperation({ code: "CLAIM_FAILED", message: "Failed to claim batch", errors });
 * const outcome = await claim.run(`Batch: ${file}`, () => tryClaim(file));
 * claim.attempts.value; // 1
 * claim.latency.getPercentile(95);
 * ```
 */
export class TimedOperation {
  readonly attempts = new Counter();
  readonly failures = new Counter();
  readonly latency: SlidingWindowPercentiles;
  readonly #options: TimedOperationOptions;
  readonly #nowMs: NowMs;

  constructor(options: TimedOperationOptions) {
    this.#options = options;
    this.#nowMs = options.nowMs ?? monotonicMs;
    this.latency = new SlidingWindowPercentiles(options.windowSeconds, this.#nowMs);
  }

  /**
   * Runs the operation and returns its result.
   *
   * @param details what it works on, for the error list
   * @throws whatever the operation throws, unchanged
   */
  async run<T>(details: string, operation: () => Promise<T>): Promise<T> {
    this.attempts.increment();
    const startMs = this.#nowMs();
    try {
      const result = await operation();
      const endMs = this.#nowMs();
      this.latency.record(endMs - startMs, endMs);
      return result;
    } catch (error) {
      this.failures.increment();
      const { code, message, errors } = this.#options;
      errors.add({ code, message, details: `${details}, Error: ${toTallymanError(error).message}` });
      throw error;
    }
  }
}
