import { describe, expect, it } from "vitest";
import { ErrorLog } from "./error-log.ts";
import { latencyMetrics } from "./latency-metrics.ts";
import { metricNames } from "./metric-names.ts";
import { TimedOperation } from "./timed-operation.ts";

function setup() {
  const errors = new ErrorLog();
  let now = 0;
  const claim = new TimedOperation({
    code: "CLAIM_FAILED",
    message: "Failed to claim batch",
    errors,
    nowMs: () => now,
  });
  const takes = (ms: number) => {
    now += ms;
  };
  return { errors, claim, takes };
}

describe("TimedOperation", () => {
  it("hands on the result and records how long it took", async () => {
    const { errors, claim, takes } = setup();
    const result = await claim.run("Batch: a", async () => {
      takes(40);
      return "claimed";
    });
    expect(result).toBe("claimed");
    expect(claim.latency.getAverage()).toBe(40);
    expect([claim.attempts.value, claim.failures.value, errors.size]).toEqual([1, 0, 0]);
  });

  it.each([
    ["rejects", () => Promise.reject(failure)],
    [
      "throws at once",
      () => {
        throw failure;
      },
    ],
  ])("writes down an operation that %s, without a latency, and rethrows its error", async (_, operation) => {
    const { errors, claim } = setup();
    await expect(claim.run("Batch: a", operation)).rejects.toBe(failure);
    expect(errors.list()).toMatchObject([
      {
        code: "CLAIM_FAILED",
        message: "Failed to claim batch",
        details: "Batch: a, Error: connection reset",
      },
    ]);
    expect([claim.attempts.value, claim.failures.value]).toEqual([1, 1]);
    expect(claim.latency.getAverage()).toBe(0);
  });

  it("yields latency entries whose names the table knows", async () => {
    const { claim, takes } = setup();
    await claim.run("Batch: a", async () => takes(40));
    const metrics = latencyMetrics("try_claim_latency", claim.latency);
    expect(metrics.try_claim_latency_avg_ms).toBe(40);
    for (const p of ["p50", "p95", "p99"] as const) {
      expect(Math.abs(metrics[`try_claim_latency_${p}_ms`] - 40)).toBeLessThanOrEqual(2);
    }
    expect(Object.keys(metrics).filter((name) => !metricNames.has(name))).toEqual([]);
  });
});

const failure = new Error("connection reset");
