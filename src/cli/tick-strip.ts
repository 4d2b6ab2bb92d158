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

/** The tick range as one line, a mark for each bucket. */
export function tickStrip(buckets: readonly Readonly<Record<Mark, number>>[]): string {
  const worst = (counts: Readonly<Record<Mark, number>>) => bySeverity.find((mark) => counts[mark] > 0);
  return buckets.map((counts) => marks[worst(counts) ?? "indexed"]).join("");
}
