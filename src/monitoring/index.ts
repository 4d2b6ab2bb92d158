/**
 * Monitoring: what every component tells about itself, at a price nobody notices.
 *
 * Model. A component is `Monitorable`: it has metrics (numbers by name), a health flag and a list of its
 * latest errors. It keeps them in counters, sliding windows and an error log of fixed size. A
 * `MetricsRegistry` knows the process's components; `prometheusText` renders them for a scrape.
 *
 * Invariants. Recording is O(1), does no I/O and allocates nothing (reading Node's clock does, 16 bytes; a
 * caller that has the time passes it); reading is O(1) as well: a scan of a fixed number of buckets and
 * slots, whatever was recorded. Nothing here grows with uptime, load or failures.
 * Durations are milliseconds in the code and in `getMetrics()`, and seconds in Prometheus; one table
 * (metric-names.ts) holds every name, unit and help text. Labels are a component's kind and configured name,
 * never an id, so the number of series is known from the configuration.
 *
 * Windows. A window is five slots in a ring, moved by a monotonic clock; a slot is emptied when the window
 * leaves it. Percentiles come from logarithmic buckets, each 10 % wider than the last, so a value is off by
 * 5 % at most (docs/decisions/002-histogram.md).
 *
 * Failure. Monitoring never makes a failure worse: what is not a duration is not recorded, a component that
 * throws when asked is reported as unhealthy, and a value that Prometheus can't take is left out.
 */
export { Counter } from "./counter.ts";
export { ErrorLog, errorsKeptMax } from "./error-log.ts";
export { type LatencySource, latencyMetrics } from "./latency-metrics.ts";
export { healthyRow, metricNames } from "./metric-names.ts";
export type { LatencyMetricName, MetricRow } from "./metric-row.ts";
export { type ComponentKind, type ComponentSnapshot, MetricsRegistry } from "./metrics-registry.ts";
export type { Monitorable } from "./monitorable.ts";
export { MonitoredService } from "./monitored-service.ts";
export type { NowMs } from "./monotonic-ms.ts";
export {
  type OperationalError,
  type OperationalErrorCode,
  operationalErrorCodes,
} from "./operational-error.ts";
export { PercentileTracker } from "./percentile-tracker.ts";
export { prometheusContentType, prometheusText } from "./prometheus-text.ts";
export { metricsWindowSecondsDefault } from "./sliding-slots.ts";
export { SlidingWindowCounter } from "./sliding-window-counter.ts";
export { SlidingWindowPercentiles } from "./sliding-window-percentiles.ts";
export { TimedOperation, type TimedOperationOptions } from "./timed-operation.ts";
