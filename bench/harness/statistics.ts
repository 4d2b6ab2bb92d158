/** Middle and ends of a figure's samples. */
export interface Spread {
  readonly median: number;
  readonly lowest: number;
  readonly highest: number;
}

/** The middle one; of an even number, the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return low === undefined || high === undefined ? Number.NaN : (low + high) / 2;
}

export function spread(values: readonly number[]): Spread {
  return { median: median(values), lowest: Math.min(...values), highest: Math.max(...values) };
}

/** The smallest value that at least `share` of the values do not exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

/** The percentiles that are told of delays, in milliseconds. */
export function delayFigures(delaysMs: readonly number[]) {
  return {
    p50Ms: percentile(delaysMs, 0.5),
    p99Ms: percentile(delaysMs, 0.99),
    maxMs: percentile(delaysMs, 1),
  };
}

/**
 * The median of ratios of values with the same place: those ran side by side, so what else the machine did at
 * that time is in both. Undefined without a pair.
 */
export function medianRatio(values: readonly number[], others: readonly number[]): number | undefined {
  const pairs = Math.min(values.length, others.length);
  if (pairs === 0) return undefined;
  return median(values.slice(0, pairs).map((value, index) => value / (others[index] ?? Number.NaN)));
}
