import { describe, expect, it } from "vitest";
import { metricNames, metricRow } from "./metric-names.ts";

/** Every name that the specifications ask components to report. */
const specified = `
  batches_claimed batches_completed batches_failed batches_processed cells_observed claim_attempts
  claim_attempts_total claim_conflicts claim_latency_p50_ms claim_latency_p95_ms claim_latency_p99_ms
  claim_success_rate claim_successes claimed_batches_pending claims_per_sec claims_window_total
  complete_latency_p95_ms connection_cached coordination_errors current_buffer_size error_count gaps_pending
  gaps_released get_metadata_latency_avg_ms get_metadata_latency_p50_ms get_metadata_latency_p95_ms
  get_metadata_latency_p99_ms h2_active_connections h2_cache_hit_ratio h2_cache_hits h2_cache_misses
  h2_disk_writes_per_sec h2_idle_connections h2_pool_active_connections h2_pool_total_connections
  h2_queries_per_sec has_gap_before_latency_p95_ms has_metadata_latency_p95_ms mark_completed_latency_p95_ms
  mark_failed_latency_p95_ms mark_gap_pending_latency_p95_ms metadata_not_found metadata_reads
  notifications_failed notifications_sent organisms_observed permanent_gaps_detected queries_executed
  read_errors release_gap_pending_latency_p95_ms rows_inserted runs_processed ticks_observed ticks_processed
  try_claim_latency_avg_ms try_claim_latency_avg_ns try_claim_latency_p50_ms try_claim_latency_p50_ns
  try_claim_latency_p95_ms try_claim_latency_p95_ns try_claim_latency_p99_ms write_errors
`
  .trim()
  .split(/\s+/);

const rows = [...metricNames.values()];

describe("metricNames", () => {
  it("has every specified name", () => {
    expect(specified).toHaveLength(62);
    expect(specified.filter((name) => !metricNames.has(name))).toEqual([]);
  });

  it("follows Prometheus' naming rules", () => {
    for (const { prometheus, type, help } of rows) {
      expect(prometheus).toMatch(/^tallyman_[a-z][a-z_]*$/);
      expect(prometheus.endsWith("_total")).toBe(type === "counter");
      expect(prometheus).not.toMatch(/_(ms|ns|sec|count|rate)$/);
      expect(help).toMatch(/\.$/);
    }
  });

  it("scales every time to seconds, and nothing else", () => {
    for (const [name, { prometheus, scale }] of metricNames) {
      expect(scale).toBe(name.endsWith("_ms") ? 1e-3 : name.endsWith("_ns") ? 1e-9 : 1);
      expect(prometheus.endsWith("_seconds")).toBe(scale !== 1);
    }
  });

  it("gives names that share a Prometheus name the same type and help", () => {
    for (const row of rows) {
      const sharing = rows.filter((other) => other.prometheus === row.prometheus);
      expect(new Set(sharing.map(({ type, help }) => `${type} ${help}`)).size).toBe(1);
    }
  });

  it("labels percentiles with their quantile", () => {
    expect(metricRow("try_claim_latency_p95_ms")).toMatchObject({
      prometheus: "tallyman_claim_latency_seconds",
      quantile: "0.95",
    });
    expect(metricRow("try_claim_latency_avg_ms").quantile).toBeUndefined();
  });

  it("calls the specified database's connections those of the pool", () => {
    expect(metricRow("h2_active_connections")).toBe(metricRow("pool_active_connections"));
    expect(metricRow("h2_disk_writes_per_sec")).toBe(metricRow("writes_per_sec"));
  });

  it.each(["Größe/π 2", "claim_attempts_total\n", "constructor", "9lives", ""])(
    "gives the unknown name %j a safe one of its own",
    (name) => {
      const { prometheus, type } = metricRow(name);
      expect(prometheus).toMatch(/^tallyman_custom_[a-z0-9_]*$/);
      expect(type).toBe("gauge");
    },
  );
});
