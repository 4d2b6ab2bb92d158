import { healthyRow, type MetricRow, metricNames } from "../../src/monitoring/index.ts";
import { code, page, table } from "./markdown.ts";

/** Every metric in Prometheus' spelling, from the one table of names. */
export function metricsPage(): string {
  return page(
    "Metrics",
    "`src/monitoring/metric-names.ts`",
    "`GET /metrics` shows those of one process in Prometheus' text format, and `getMetrics()` of a service, reader or storage the same as numbers by name. A process shows what its components report, so no process shows them all.",
    "Every series has the labels `kind` (`service`, `resource` or `wrapper`) and `name` (as configured); never an id, so that their number follows from the configuration. Percentiles have the label `quantile` (0.5, 0.95, 0.99) as well. Rates, percentiles and averages are of the sliding window (`settings.metricsWindowSeconds`, 5 s unless set).",
    "A name that is not in this table, because a component of yours reports something of its own, becomes the gauge `tallyman_custom_<name>`.",
    table(["metric", "type", "unit", "labels", "meaning", "in `getMetrics()`"], rows()),
  );
}

function rows(): string[][] {
  const healthy = { row: healthyRow, reported: [] };
  const names = new Map<string, { row: MetricRow; reported: string[] }>([[healthyRow.prometheus, healthy]]);
  for (const [name, row] of metricNames) {
    const entry = names.get(row.prometheus) ?? { row, reported: [] };
    names.set(row.prometheus, { row, reported: [...entry.reported, name] });
  }
  return [...names.values()]
    .toSorted((a, b) => a.row.prometheus.localeCompare(b.row.prometheus))
    .map(({ row, reported }) => [
      code(row.prometheus),
      row.type,
      unitOf(row),
      row.quantile === undefined ? "kind, name" : "kind, name, quantile",
      row.help,
      reported.map(code).join(", "),
    ]);
}

const units: readonly (readonly [ending: string, unit: string])[] = [
  ["_per_second", "1/s"],
  ["_seconds", "s"],
  ["_ratio", "0 to 1"],
];

/** The unit is in the name, as Prometheus has it; what has none is a number of things. */
function unitOf({ prometheus }: MetricRow): string {
  if (prometheus.includes("_bytes")) return "bytes";
  return units.find(([ending]) => prometheus.endsWith(ending))?.[1] ?? "count";
}
