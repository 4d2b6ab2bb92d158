import { describe, expect, it } from "vitest";
import { MetricsRegistry } from "./metrics-registry.ts";
import type { Monitorable } from "./monitorable.ts";
import { prometheusText } from "./prometheus-text.ts";

function component(metrics: Record<string, number>, healthy = true): Monitorable {
  return {
    getMetrics: () => metrics,
    isHealthy: () => healthy,
    getErrors: () => [],
    clearErrors: () => {},
  };
}

/** The text's sample lines, without comments. */
async function samplesOf(registry: MetricsRegistry): Promise<string[]> {
  const text = await prometheusText(registry);
  return text.split("\n").filter((line) => line && !line.startsWith("#"));
}

async function samplesOfOne(metrics: Record<string, number>): Promise<string[]> {
  const registry = new MetricsRegistry();
  registry.register("service", "s", component(metrics));
  return (await samplesOf(registry)).slice(1);
}

describe("prometheusText", () => {
  it("writes type, help, labels and base units", async () => {
    const registry = new MetricsRegistry();
    const metrics = { claim_attempts: 12, try_claim_latency_p95_ms: 250, claim_success_rate: 0.5 };
    registry.register("wrapper", "index-database", component(metrics));
    registry.register("service", "dummy-indexer", component({ claim_attempts: 0 }, false));
    expect(await prometheusText(registry)).toBe(`\
# HELP tallyman_healthy 1 when the component can do its work, else 0.
# TYPE tallyman_healthy gauge
tallyman_healthy{kind="wrapper",name="index-database"} 1
tallyman_healthy{kind="service",name="dummy-indexer"} 0

# HELP tallyman_claim_attempts_total Claims tried, won or not.
# TYPE tallyman_claim_attempts_total counter
tallyman_claim_attempts_total{kind="wrapper",name="index-database"} 12
tallyman_claim_attempts_total{kind="service",name="dummy-indexer"} 0

# HELP tallyman_claim_latency_seconds Time to claim a batch: percentiles of the sliding window.
# TYPE tallyman_claim_latency_seconds gauge
tallyman_claim_latency_seconds{kind="wrapper",name="index-database",quantile="0.95"} 0.25

# HELP tallyman_claim_success_ratio Claims won, as a share of claims tried.
# TYPE tallyman_claim_success_ratio gauge
tallyman_claim_success_ratio{kind="wrapper",name="index-database"} 0.5
`);
  });

  it("counts a quantity once that is reported under two of its names", async () => {
    const samples = await samplesOfOne({
      claim_attempts: 5,
      claim_attempts_total: 5,
      h2_cache_hits: 2,
      cache_hits: 2,
    });
    expect(samples).toEqual([
      'tallyman_claim_attempts_total{kind="service",name="s"} 5',
      'tallyman_cache_hits_total{kind="service",name="s"} 2',
    ]);
  });

  it("exports unknown names as gauges apart from the table's", async () => {
    expect(await samplesOfOne({ "Birds seen": -2, healthy: 9 })).toEqual([
      'tallyman_custom_birds_seen{kind="service",name="s"} -2',
      'tallyman_custom_healthy{kind="service",name="s"} 9',
    ]);
  });

  it("leaves out values that Prometheus can't take", async () => {
    const metrics = { gaps_pending: Number.NaN, claim_attempts: -1, error_count: Number.POSITIVE_INFINITY };
    expect(await samplesOfOne({ ...metrics, claim_successes: 1 })).toEqual([
      'tallyman_claim_successes_total{kind="service",name="s"} 1',
    ]);
  });

  it("escapes a component's name", async () => {
    const registry = new MetricsRegistry();
    registry.register("service", 'a"b\\c\nd', component({}));
    expect(await samplesOf(registry)).toEqual(['tallyman_healthy{kind="service",name="a\\"b\\\\c\\nd"} 1']);
  });

  it("drops a component's series when it leaves", async () => {
    const registry = new MetricsRegistry();
    const unregister = registry.register("service", "s", component({ claim_attempts: 1 }));
    expect(await samplesOf(registry)).toHaveLength(2);
    unregister();
    expect(await samplesOf(registry)).toEqual([]);
  });
});
