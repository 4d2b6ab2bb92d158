import type { OperationalError } from "./operational-error.ts";

/** How many errors a component remembers; older ones make way. */
export const errorsKeptMax = 100;

/**
 * The latest failures of one component, in a ring: adding takes constant time however many there were,
 * and an outage of hours holds no more memory than one of minutes.
 *
 * @example
 * ```ts
 * const errors = new ErrorLog();
 * errors.add({ code: "CLAIM_FAILED", message: "Failed to claim batch", details: "Batch: batch_0_99.pb" });
 * errors.list()[0]?.code; // "CLAIM_FAILED"
 * ```
 */
export class ErrorLog {
  #ring: OperationalError[] = [];
  #oldest = 0;

  /** Stamps the failure with the wall clock and keeps it; the oldest goes when the log is full. */
  add(failure: Omit<OperationalError, "timestamp">): void {
    const error = { timestamp: new Date(), ...failure };
    if (this.#ring.length < errorsKeptMax) {
      this.#ring.push(error);
      return;
    }
    this.#ring[this.#oldest] = error;
    this.#oldest = (this.#oldest + 1) % errorsKeptMax;
  }

  /** How many errors are kept, at most {@link errorsKeptMax}. */
  get size(): number {
    return this.#ring.length;
  }

  /** A copy, oldest first. */
  list(): readonly OperationalError[] {
    return [...this.#ring.slice(this.#oldest), ...this.#ring.slice(0, this.#oldest)];
  }

  clear(): void {
    this.#ring = [];
    this.#oldest = 0;
  }
}
