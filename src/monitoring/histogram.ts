/** Durations up to this count as this long: below it, the clock's own cost is what would be measured. */
const lowestMs = 0.001;

/** Durations beyond an hour count as an hour. */
const highestMs = 3_600_000;

/** Each bucket is this much wider than the one before; its root is the greatest relative error. */
const growth = 1.1;

const bucketsPerE = 1 / Math.log(growth);
const bucketCount = 1 + Math.ceil(Math.log(highestMs / lowestMs) * bucketsPerE);

/** What a bucket reports: the geometric middle of its bounds, equally wrong at both ends. */
const bucketMs = Float64Array.from({ length: bucketCount }, (_, bucket) =>
  bucket === 0 ? lowestMs : lowestMs * growth ** (bucket - 0.5),
);

/** True for what a clock can yield; a broken clock must not spoil sums for good. */
export function isDuration(durationMs: number): boolean {
  return durationMs >= 0 && durationMs < Number.POSITIVE_INFINITY;
}

/** The bucket of a duration. */
export function bucketOf(durationMs: number): number {
  if (durationMs <= lowestMs) return 0;
  return Math.min(bucketCount - 1, Math.ceil(Math.log(durationMs / lowestMs) * bucketsPerE));
}

/**
 * Durations counted in logarithmic buckets. Counts are doubles because a 32-bit count of a busy bucket
 * would wrap within days.
 */
export class Histogram {
  readonly #counts = new Float64Array(bucketCount);
  #total = 0;

  get total(): number {
    return this.#total;
  }

  add(bucket: number): void {
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#total++;
  }

  /** Takes back what `other` had added to this histogram, and empties `other`. */
  expire(other: Histogram): void {
    if (other.#total === 0) return;
    for (let bucket = 0; bucket < bucketCount; bucket++) {
      this.#counts[bucket] = (this.#counts[bucket] ?? 0) - (other.#counts[bucket] ?? 0);
    }
    this.#total -= other.#total;
    other.#counts.fill(0);
    other.#total = 0;
  }

  /** The duration that `percent` of all durations do not exceed (nearest rank); 0 when there are none. */
  percentileMs(percent: number): number {
    if (this.#total === 0) return 0;
    let remaining = Math.max(1, Math.ceil((percent * this.#total) / 100));
    let bucket = -1;
    while (remaining > 0 && bucket < bucketCount - 1) remaining -= this.#counts[++bucket] ?? 0;
    return bucketMs[bucket] ?? 0;
  }
}
