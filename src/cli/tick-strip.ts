import type { TickAccount } from "../coordination/index.ts";

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

/** The whole tick range as one line of `width` marks. */
export function tickStrip(ranges: TickAccount["ranges"], width: number): string {
  const first = ranges[0]?.start ?? 0;
  const last = Math.max(first, ranges.at(-1)?.end ?? first);
  const buckets = Math.max(1, Math.min(width, last - first + 1));
  const bucketOf = (tick: number) =>
    Math.min(buckets - 1, Math.floor(((tick - first) / (last - first + 1)) * buckets));
  const worst: Mark[] = Array.from({ length: buckets }, () => "indexed");
  for (const { tickClass, start, end } of ranges) {
    for (let bucket = bucketOf(start); bucket <= bucketOf(end); bucket++) {
      if (bySeverity.indexOf(tickClass) < bySeverity.indexOf(worst[bucket] ?? "indexed"))
        worst[bucket] = tickClass;
    }
  }
  return worst.map((mark) => marks[mark]).join("");
}
