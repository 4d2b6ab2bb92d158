/** How one name of `getMetrics()` appears in Prometheus. */
export interface MetricRow {
  /** Prometheus name: prefix `tallyman_`, base units, `_total` for counters. */
  readonly prometheus: string;
  readonly type: "counter" | "gauge";
  readonly help: string;
  /** Factor from the unit of `getMetrics()` to Prometheus' base unit (milliseconds to seconds: 0.001). */
  readonly scale: number;
  /** Value of the `quantile` label, for percentiles. */
  readonly quantile?: string;
}

/** The names that `latencyMetrics` yields for one latency. */
export type LatencyMetricName<
  Base extends string,
  Unit extends string = "ms",
> = `${Base}_${"p50" | "p95" | "p99" | "avg"}_${Unit}`;

const secondsPer = { ms: 1e-3, ns: 1e-9 };

/** A row of something that only grows. */
export function counter(name: string, help: string): MetricRow {
  return { prometheus: `tallyman_${name}_total`, type: "counter", help, scale: 1 };
}

/** A row of something that rises and falls. */
export function gauge(name: string, help: string): MetricRow {
  return { prometheus: `tallyman_${name}`, type: "gauge", help, scale: 1 };
}

/** The four rows of a latency: quantiles of a gauge (a summary would need a sum since the start), and an average. */
export function latency<Base extends string, Unit extends "ms" | "ns" = "ms">(options: {
  base: Base;
  /** Prometheus stem, `tallyman_<stem>_seconds`. */
  stem: string;
  what: string;
  unit?: Unit;
}): Record<LatencyMetricName<Base, Unit>, MetricRow> {
  const { base, stem, what, unit = "ms" } = options;
  const scale = secondsPer[unit];
  const percentile = {
    ...gauge(`${stem}_seconds`, `Time to ${what}: percentiles of the sliding window.`),
    scale,
  };
  const average = {
    ...gauge(`${stem}_average_seconds`, `Time to ${what}: average of the sliding window.`),
    scale,
  };
  return {
    [`${base}_p50_${unit}`]: { ...percentile, quantile: "0.5" },
    [`${base}_p95_${unit}`]: { ...percentile, quantile: "0.95" },
    [`${base}_p99_${unit}`]: { ...percentile, quantile: "0.99" },
    [`${base}_avg_${unit}`]: average,
  } as Record<LatencyMetricName<Base, Unit>, MetricRow>;
}
