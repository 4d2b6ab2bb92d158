import { bucketOf, Histogram, isDuration } from "./histogram.ts";

/**
 * Latency percentiles over everything recorded since the process started, in milliseconds.
 *
 * Percentiles are within 5 % between a microsecond and an hour, and clamped to those bounds; the average
 * is exact. Recording and reading take constant time. What is not a duration
 * (negative, NaN, infinite) is not recorded.
 *
 * @example
 * ```ts
 * const startup = new PercentileTracker();
 * startup.record(12.5);
 * startup.getPercentile(95); // about 12.5
 * ```
 */
export class PercentileTracker {
  readonly #histogram = new Histogram();
  #sumMs = 0;

  record(durationMs: number): void {
    if (!isDuration(durationMs)) return;
    this.#histogram.add(bucketOf(durationMs));
    this.#sumMs += durationMs;
  }

  /** The milliseconds that `percent` (0 to 100) of the records do not exceed; 0 without records. */
  getPercentile(percent: number): number {
    return this.#histogram.percentileMs(percent);
  }

  /** Average milliseconds; 0 without records. */
  getAverage(): number {
    return this.#histogram.total === 0 ? 0 : this.#sumMs / this.#histogram.total;
  }
}
