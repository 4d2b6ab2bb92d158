import type { LatencyMetricName } from "./metric-row.ts";

/** What both percentile trackers can tell. */
export interface LatencySource {
  /** Milliseconds. */
  getPercentile(percent: number): number;
  /** Milliseconds. */
  getAverage(): number;
}

/**
 * The entries of `getMetrics()` that describe one latency: p50, p95, p99 and average.
 *
 * @example
 * ```ts
 * latencyMetrics("try_claim_latency", latency);
 * // { try_claim_latency_p50_ms: 1.2, try_claim_latency_p95_ms: 3.4, …_p99_ms: 5.6, …_avg_ms: 1.5 }
 * ```
 */
export function latencyMetrics<Base extends string>(
  base: Base,
  source: LatencySource,
): Record<LatencyMetricName<Base>, number> {
  return {
    [`${base}_p50_ms`]: source.getPercentile(50),
    [`${base}_p95_ms`]: source.getPercentile(95),
    [`${base}_p99_ms`]: source.getPercentile(99),
    [`${base}_avg_ms`]: source.getAverage(),
  } as Record<LatencyMetricName<Base>, number>;
}
