import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PercentileTracker } from "./percentile-tracker.ts";

const relativeErrorMax = 0.05;

/** The definition itself: sort, take the nearest rank. */
function percentileOf(durationsMs: readonly number[], percent: number): number {
  const sorted = [...durationsMs].sort((a, b) => a - b);
  return sorted[Math.max(1, Math.ceil((percent * sorted.length) / 100)) - 1] ?? 0;
}

function trackerOf(durationsMs: readonly number[]): PercentileTracker {
  const tracker = new PercentileTracker();
  for (const durationMs of durationsMs) tracker.record(durationMs);
  return tracker;
}

/** Durations spread evenly over the magnitudes from a microsecond to an hour. */
const anyDurationMs = fc
  .double({ min: Math.log(0.001), max: Math.log(3_600_000), noNaN: true })
  .map((exponent) => Math.exp(exponent));

describe("PercentileTracker", () => {
  it("agrees with a sorted array within the stated error, for any records and percentile", () => {
    fc.assert(
      fc.property(
        fc.array(anyDurationMs, { minLength: 1, maxLength: 300 }),
        fc.oneof(fc.constantFrom(0, 50, 95, 99, 100), fc.integer({ min: 0, max: 100 })),
        (durationsMs, percent) => {
          const exact = percentileOf(durationsMs, percent);
          const estimate = trackerOf(durationsMs).getPercentile(percent);
          expect(Math.abs(estimate - exact)).toBeLessThanOrEqual(exact * relativeErrorMax);
        },
      ),
    );
  });

  it("averages exactly, and orders its percentiles", () => {
    fc.assert(
      fc.property(fc.array(anyDurationMs, { minLength: 1, maxLength: 100 }), (durationsMs) => {
        const tracker = trackerOf(durationsMs);
        const sum = durationsMs.reduce((a, b) => a + b, 0);
        expect(tracker.getAverage()).toBe(sum / durationsMs.length);
        const [p50, p95, p99] = [50, 95, 99].map((percent) => tracker.getPercentile(percent));
        expect(p50).toBeLessThanOrEqual(p95 ?? 0);
        expect(p95).toBeLessThanOrEqual(p99 ?? 0);
      }),
    );
  });

  it("is zero without records", () => {
    const tracker = new PercentileTracker();
    expect([tracker.getPercentile(50), tracker.getAverage()]).toEqual([0, 0]);
  });

  it("clamps what is shorter than a microsecond or longer than an hour", () => {
    expect(trackerOf([0]).getPercentile(50)).toBe(0.001);
    const hourMs = 3_600_000;
    expect(Math.abs(trackerOf([1e12]).getPercentile(50) - hourMs)).toBeLessThanOrEqual(
      hourMs * relativeErrorMax,
    );
  });

  it("does not record what is not a duration", () => {
    const tracker = trackerOf([Number.NaN, -1, Number.POSITIVE_INFINITY, 8]);
    expect(tracker.getAverage()).toBe(8);
    expect(tracker.getPercentile(0)).toBeCloseTo(8, 0);
  });
});
