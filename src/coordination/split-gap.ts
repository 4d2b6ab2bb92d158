/** A range of ticks; both bounds belong to it. */
export interface Ticks {
  readonly start: number;
  readonly end: number;
}

/**
 * What is left of a gap when a batch was found in it: up to one sampling interval before the batch,
 * and from one after it. Never an inverted range.
 */
export function partsAround(gap: Ticks, batch: Ticks, samplingInterval: number): Ticks[] {
  const before = { start: gap.start, end: Math.min(gap.end, batch.start - samplingInterval) };
  const after = { start: Math.max(gap.start, batch.end + samplingInterval), end: gap.end };
  return [before, after].filter(({ start, end }) => start <= end);
}
