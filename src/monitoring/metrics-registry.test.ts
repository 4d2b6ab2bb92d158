import { describe, expect, it } from "vitest";
import { MetricsRegistry } from "./metrics-registry.ts";
import type { Monitorable } from "./monitorable.ts";

function component(metrics: Record<string, number>, healthy = true): Monitorable {
  return {
    getMetrics: () => metrics,
    isHealthy: () => healthy,
    getErrors: () => [],
    clearErrors: () => {},
  };
}

const broken: Monitorable = {
  ...component({}),
  getMetrics() {
    throw new Error("pool is gone");
  },
};

describe("MetricsRegistry", () => {
  it("collects what every component says", () => {
    const registry = new MetricsRegistry();
    registry.register("service", "indexer", component({ ticks_processed: 3 }));
    registry.register("resource", "indexer", component({}, false));
    expect(registry.collect()).toEqual([
      { kind: "service", name: "indexer", healthy: true, metrics: { ticks_processed: 3 }, errors: [] },
      { kind: "resource", name: "indexer", healthy: false, metrics: {}, errors: [] },
    ]);
  });

  it("refuses a second component of the same kind and name", () => {
    const registry = new MetricsRegistry();
    registry.register("service", "indexer", component({}));
    expect(() => registry.register("service", "indexer", component({}))).toThrow(
      expect.objectContaining({ code: "INVALID_STATE", details: { kind: "service", name: "indexer" } }),
    );
  });

  it("unregisters once, and never the component that took the name later", () => {
    const registry = new MetricsRegistry();
    const unregister = registry.register("service", "indexer", component({}));
    unregister();
    expect(registry.collect()).toEqual([]);
    registry.register("service", "indexer", component({}));
    unregister();
    expect(registry.collect()).toHaveLength(1);
  });

  it("reports a component that throws as unhealthy, and the others as usual", () => {
    const registry = new MetricsRegistry();
    registry.register("resource", "broken", broken);
    registry.register("resource", "fine", component({}));
    expect(registry.collect()).toMatchObject([
      { healthy: false, metrics: {}, errors: [{ code: "COLLECT_FAILED", details: "Error: pool is gone" }] },
      { healthy: true },
    ]);
  });
});
