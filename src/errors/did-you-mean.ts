import { distance } from "fastest-levenshtein";

/** How far a misspelling may be from a known name and still be suggested. */
const distanceMax = 3;

/** The known name nearest to a misspelt one, or undefined when none is near. */
export function closest(name: string, known: Iterable<string>): string | undefined {
  let best: { name: string; distance: number } | undefined;
  for (const candidate of known) {
    const d = distance(name.toLowerCase(), candidate.toLowerCase());
    if (d <= Math.min(distanceMax, candidate.length / 2) && (!best || d < best.distance)) {
      best = { name: candidate, distance: d };
    }
  }
  return best?.name;
}

/** A sentence for an error message: the nearest known name, or else all of them. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const names = [...known];
  const nearest = closest(name, names);
  return nearest ? `Did you mean '${nearest}'?` : `Known: ${names.join(", ")}.`;
}
