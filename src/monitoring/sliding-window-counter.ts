import { monotonicMs, type NowMs } from "./monotonic-ms.ts";
import { metricsWindowSecondsDefault, SlidingSlots, slotCount } from "./sliding-slots.ts";

/**
 * Events of the last seconds, as a sum and as a rate per second.
 *
 * The window moves in steps of a fifth of its length: nothing older than `windowSeconds` is counted, and
 * what is younger than four fifths of it always is. Recording and reading take constant time.
 *
 * @example
 * ```ts
 * const claims = new SlidingWindowCounter(5);
 * claims.recordCount();
 * claims.getWindowSum(); // 1
 * ```
 */
export class SlidingWindowCounter {
  readonly #counts = new Float64Array(slotCount);
  readonly #slots: SlidingSlots;
  readonly #nowMs: NowMs;

  /**
   * @param windowSeconds length of the window, a positive number
   * @param nowMs clock; the process's monotonic one by default
   * @throws TallymanError INVALID_OPTION when `windowSeconds` is not a positive number
   */
  constructor(windowSeconds = metricsWindowSecondsDefault, nowMs: NowMs = monotonicMs) {
    this.#nowMs = nowMs;
    this.#slots = new SlidingSlots(windowSeconds, (slot) => {
      this.#counts[slot] = 0;
    });
  }

  /**
   * Counts `n` events.
   *
   * @param atMs the present moment, for a caller that has just read this counter's clock
   */
  recordCount(n = 1, atMs: number = this.#nowMs()): void {
    const slot = this.#slots.advance(atMs);
    this.#counts[slot] = (this.#counts[slot] ?? 0) + n;
  }

  /** Events per second. Right from the moment that one whole window has passed; lower before. */
  getRate(): number {
    const nowMs = this.#nowMs();
    this.#slots.advance(nowMs);
    return this.#sum() / this.#slots.spanSeconds(nowMs);
  }

  /** Events inside the window. */
  getWindowSum(): number {
    this.#slots.advance(this.#nowMs());
    return this.#sum();
  }

  #sum(): number {
    let sum = 0;
    for (let slot = 0; slot < slotCount; slot++) sum += this.#counts[slot] ?? 0;
    return sum;
  }
}
