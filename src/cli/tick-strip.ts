import { bucketTicks, type TickAccount, type TickBucket } from "../coordination/index.ts";

/** One mark per class, the most alarming first: a bucket shows the worst that is in it. */
const marks = {
  missing: "?",
  permanent: "×",
  pending: "·",
  failed: "!",
  in_flight: "░",
  indexed: "█",
} as const;

type Mark = keyof typeof marks;
const bySeverity = Object.keys(marks) as Mark[];

/** What the marks mean. */
export const stripLegend = "█ indexed  ░ in flight  ! failed  · pending gap  × permanent gap";

/** The whole tick range as one line of `width` marks, or fewer when it has fewer ticks. */
export function tickStrip(
  ranges: TickAccount["ranges"],
  { width, samplingInterval }: { readonly width: number; readonly samplingInterval: number },
): string {
  const worst = ({ counts }: TickBucket) => bySeverity.find((mark) => counts[mark] > 0) ?? "indexed";
  return bucketTicks(ranges, { samplingInterval, buckets: width })
    .map((bucket) => marks[worst(bucket)])
    .join("");
}
