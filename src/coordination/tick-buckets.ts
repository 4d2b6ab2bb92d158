import type { TickClass } from "./sql/tick-account.ts";
import type { TickAccount } from "./tick-account.ts";

/** How many ticks of consecutive ones are in each class. Both bounds belong to it. */
export interface TickBucket {
  readonly start: number;
  readonly end: number;
  readonly counts: Readonly<Record<TickClass | "missing", number>>;
}

/** Which ticks, and in how many buckets. */
export interface TickBucketOptions {
  /** Ticks are counted on its multiples. */
  readonly samplingInterval: number;
  /** Buckets at most; fewer only when there are fewer ticks. */
  readonly buckets: number;
  /** Default: the first tick of the ranges. */
  readonly from?: number | undefined;
  /** Default: the last tick of the ranges. */
  readonly to?: number | undefined;
}

/**
 * Ranges of ticks as a fixed number of buckets of equal width, in tick order: a picture of the whole that stays
 * small however many ranges there are. No tick is lost: each is counted in one bucket.
 */
export function bucketTicks(
  ranges: TickAccount["ranges"],
  { samplingInterval, buckets, from = ranges[0]?.start, to = ranges.at(-1)?.end }: TickBucketOptions,
): TickBucket[] {
  if (from === undefined || to === undefined) return [];
  const first = Math.ceil(from / samplingInterval);
  const last = Math.floor(to / samplingInterval);
  const bounds = boundsOf(first, last, buckets);
  const counted = bounds.slice(0, -1).map(() => noTicks());
  let bucket = 0;
  for (const { tickClass, start, end } of ranges) {
    const stop = Math.min(last, Math.floor(end / samplingInterval));
    for (let at = Math.max(first, Math.ceil(start / samplingInterval)); at <= stop; ) {
      while ((bounds[bucket + 1] as number) <= at) bucket++;
      const next = Math.min(stop + 1, bounds[bucket + 1] as number);
      (counted[bucket] as ReturnType<typeof noTicks>)[tickClass] += next - at;
      at = next;
    }
  }
  return counted.map((counts, index) => ({
    start: (bounds[index] as number) * samplingInterval,
    end: ((bounds[index + 1] as number) - 1) * samplingInterval,
    counts,
  }));
}

/** Where each bucket begins, and the end of the last. Whole and remainder apart: the product could pass 2^53. */
function boundsOf(first: number, last: number, bucketsMax: number): number[] {
  const ticks = Math.max(0, last - first + 1);
  const buckets = Math.min(bucketsMax, ticks);
  const whole = Math.floor(ticks / buckets);
  const rest = ticks % buckets;
  return buckets === 0
    ? []
    : Array.from(
        { length: buckets + 1 },
        (_, index) => first + index * whole + Math.floor((index * rest) / buckets),
      );
}

function noTicks() {
  return { indexed: 0, in_flight: 0, failed: 0, pending: 0, permanent: 0, missing: 0 };
}
