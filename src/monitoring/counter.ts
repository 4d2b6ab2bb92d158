/**
 * A cumulative count since the process started. It only grows, so Prometheus can derive rates from it.
 *
 * Not shared between threads: each worker thread counts for itself.
 *
 * @example
 * ```ts
 * const claimConflicts = new Counter();
 * claimConflicts.increment();
 * claimConflicts.value; // 1
 * ```
 */
export class Counter {
  #value = 0;

  /** Adds `n`, a number of events that is zero or more. */
  increment(n = 1): void {
    this.#value += n;
  }

  get value(): number {
    return this.#value;
  }
}
