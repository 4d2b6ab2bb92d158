import { describe, expect, it } from "vitest";
import { LogCapture } from "../testing/index.ts";
import { Counter, MetricsRegistry, MonitoredService, prometheusText } from "./index.ts";

class Failing extends MonitoredService {
  readonly #turns = new Counter();

  override getMetrics() {
    return { ...super.getMetrics(), batches_processed: this.#turns.value };
  }

  protected override async runOnce(): Promise<void> {
    this.#turns.increment();
    if (this.#turns.value < 3) return;
    this.errors.add({ code: "CONNECT_FAILED", message: "No connection", details: "" });
    throw new Error("gone");
  }
}

describe("MonitoredService", () => {
  it("reports its figures, its errors and its health", async () => {
    using logs = new LogCapture();
    logs.expectLog({ logger: "failing", level: "error", message: "Failed: gone" });
    const service = new Failing("failing");
    expect(service.isHealthy()).toBe(true);
    const failed = new Promise<void>((resolve) =>
      service.onStateChange((state) => state === "ERROR" && resolve()),
    );
    await service.start();
    await failed;
    expect(service.isHealthy()).toBe(false);
    expect(service.getMetrics()).toEqual({ error_count: 1, batches_processed: 3 });
    expect(service.getErrors()).toMatchObject([{ code: "CONNECT_FAILED" }]);
    service.clearErrors();
    expect(service.getErrors()).toEqual([]);
    await service.stop();
    logs.verify();
  });

  it("is exported to Prometheus under its own name", async () => {
    const registry = new MetricsRegistry();
    registry.register("service", "failing", new Failing("failing"));
    expect(await prometheusText(registry)).toContain(
      'tallyman_batches_processed_total{kind="service",name="failing"} 0',
    );
  });
});
