import { bucketOf, Histogram, isDuration } from "./histogram.ts";
import { monotonicMs, type NowMs } from "./monotonic-ms.ts";
import { metricsWindowSecondsDefault, SlidingSlots, slotCount } from "./sliding-slots.ts";

/**
 * Latency percentiles over the last seconds, in milliseconds.
 *
 * Precision as in `PercentileTracker`, window as in `SlidingWindowCounter`. Recording and reading take
 * constant time; one tracker holds about 13 KiB.
 *
 * @example
 * ```ts
 * const latency = new SlidingWindowPercentiles(5);
 * const startMs = performance.now();
 * await claim();
 * latency.record(performance.now() - startMs);
 * latency.getPercentile(95);
 * ```
 */
export class SlidingWindowPercentiles {
  readonly #window = new Histogram();
  readonly #perSlot = Array.from({ length: slotCount }, () => new Histogram());
  readonly #sumsMs = new Float64Array(slotCount);
  readonly #slots: SlidingSlots;
  readonly #nowMs: NowMs;

  /**
   * @param windowSeconds length of the window, a positive number
   * @param nowMs clock; the process's monotonic one by default
   * @throws TallymanError INVALID_OPTION when `windowSeconds` is not a positive number
   */
  constructor(windowSeconds = metricsWindowSecondsDefault, nowMs: NowMs = monotonicMs) {
    this.#nowMs = nowMs;
    this.#slots = new SlidingSlots(windowSeconds, (slot) => this.#empty(slot));
  }

  /**
   * Adds one duration.
   *
   * @param atMs the present moment, for a caller that has just read this tracker's clock
   */
  record(durationMs: number, atMs: number = this.#nowMs()): void {
    if (!isDuration(durationMs)) return;
    const slot = this.#slots.advance(atMs);
    const bucket = bucketOf(durationMs);
    this.#window.add(bucket);
    this.#perSlot[slot]?.add(bucket);
    this.#sumsMs[slot] = (this.#sumsMs[slot] ?? 0) + durationMs;
  }

  /** The milliseconds that `percent` (0 to 100) of the window's records do not exceed; 0 without records. */
  getPercentile(percent: number): number {
    this.#slots.advance(this.#nowMs());
    return this.#window.percentileMs(percent);
  }

  /** Average milliseconds of the window; 0 without records. */
  getAverage(): number {
    this.#slots.advance(this.#nowMs());
    if (this.#window.total === 0) return 0;
    let sumMs = 0;
    // Summed afresh: adding and later subtracting doubles would let rounding errors pile up for good.
    for (let slot = 0; slot < slotCount; slot++) sumMs += this.#sumsMs[slot] ?? 0;
    return sumMs / this.#window.total;
  }

  #empty(slot: number): void {
    const expired = this.#perSlot[slot];
    if (expired) this.#window.expire(expired);
    this.#sumsMs[slot] = 0;
  }
}
