/** How much was finished at a moment. */
export interface Observation {
  readonly atMs: number;
  readonly finished: number;
}

/** How fast it goes, and until when. */
export interface Estimate {
  readonly perSecond: number;
  /** Undefined while nothing moves. */
  readonly endMs: number | undefined;
  /** What to remember for the next estimate. */
  readonly observations: readonly Observation[];
}

/** Older observations say little about now. */
const windowMs = 30_000;
const secondMs = 1_000;

/** The rate over the last half minute, and when the rest will be finished at that rate. */
export function estimateOf(
  before: readonly Observation[],
  latest: Observation,
  totalCount: number,
): Estimate {
  const recent = before.filter(({ atMs }) => atMs >= latest.atMs - windowMs && atMs < latest.atMs);
  const observations = [...recent, latest];
  const first = observations[0] ?? latest;
  const spanMs = latest.atMs - first.atMs;
  const perSecond = spanMs === 0 ? 0 : ((latest.finished - first.finished) / spanMs) * secondMs;
  const leftMs = ((totalCount - latest.finished) / perSecond) * secondMs;
  return { perSecond, endMs: perSecond > 0 ? latest.atMs + leftMs : undefined, observations };
}
