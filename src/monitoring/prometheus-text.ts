import { Counter, Gauge, Registry } from "prom-client";
import { healthyRow, metricRow } from "./metric-names.ts";
import type { MetricRow } from "./metric-row.ts";
import type { ComponentSnapshot, MetricsRegistry } from "./metrics-registry.ts";

/** The Content-Type of {@link prometheusText}. */
export const prometheusContentType: string = Registry.PROMETHEUS_CONTENT_TYPE;

interface Sample {
  readonly row: MetricRow;
  readonly labels: Record<string, string>;
  /** In the row's base unit. */
  readonly value: number;
}

/**
 * Everything in the registry in Prometheus' text format. Each series carries the labels `kind` and `name` of
 * its component, and `quantile` for percentiles. Values that Prometheus can't take (NaN, infinite, a counter
 * below zero) are left out rather than failing the scrape.
 *
 * @example
 * ```ts
 * await prometheusText(registry);
 * // tallyman_claim_latency_seconds{kind="wrapper",name="index-database",quantile="0.95"} 0.0034
 * ```
 */
export async function prometheusText(registry: MetricsRegistry): Promise<string> {
  const samples = registry.collect().flatMap(samplesOf);
  // A fresh prom-client registry per scrape: a component that left must leave no stale series behind.
  const exposition = new Registry();
  for (const family of familiesOf(samples)) addFamily(exposition, family);
  return exposition.metrics();
}

function samplesOf({ kind, name, healthy, metrics }: ComponentSnapshot): Sample[] {
  const toSample = (row: MetricRow, value: number): Sample => ({
    row,
    labels: { kind, name, ...(row.quantile && { quantile: row.quantile }) },
    value: value * row.scale,
  });
  const reported = Object.entries(metrics).map(([metric, value]) => toSample(metricRow(metric), value));
  return [toSample(healthyRow, healthy ? 1 : 0), ...reported].filter(isExportable);
}

function isExportable({ row, value }: Sample): boolean {
  return Number.isFinite(value) && (row.type === "gauge" || value >= 0);
}

/** Samples by Prometheus name. A quantity reported under two of its names is one sample, not a doubled counter. */
function familiesOf(samples: readonly Sample[]): Sample[][] {
  const families = new Map<string, Map<string, Sample>>();
  for (const sample of samples) {
    const family = families.get(sample.row.prometheus) ?? new Map<string, Sample>();
    families.set(sample.row.prometheus, family.set(JSON.stringify(sample.labels), sample));
  }
  return Array.from(families.values(), (family) => [...family.values()]);
}

function addFamily(exposition: Registry, family: readonly Sample[]): void {
  const row = family[0]?.row;
  if (!row) return;
  const config = {
    name: row.prometheus,
    help: row.help,
    labelNames: ["kind", "name", "quantile"],
    registers: [exposition],
  };
  const metric = row.type === "counter" ? new Counter(config) : new Gauge(config);
  for (const { labels, value } of family) metric.inc(labels, value);
}
