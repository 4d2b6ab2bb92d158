import { describe, expect, test } from "vitest";
import { delayFigures, median, medianRatio, percentile, spread } from "./statistics.ts";

describe("median", () => {
  test("is the middle one, whatever the order", () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(median([100])).toBe(100);
  });

  test("of an even number is the mean of the two in the middle", () => {
    expect(median([4, 1, 2, 100])).toBe(3);
  });

  test("sorts by value, not by text", () => {
    expect(median([10, 9, 100])).toBe(10);
  });

  test("of nothing is no number", () => {
    expect(median([])).toBeNaN();
  });
});

test("spread tells both ends", () => {
  expect(spread([3, 1, 2])).toEqual({ median: 2, lowest: 1, highest: 3 });
});

test("a percentile is a value that was measured, and not exceeded by that share", () => {
  const values = Array.from({ length: 200 }, (_, index) => 200 - index);
  expect(percentile(values, 0.5)).toBe(100);
  expect(percentile(values, 0.99)).toBe(198);
  expect(percentile([7], 0.01)).toBe(7);
  expect(delayFigures(values)).toEqual({ p50Ms: 100, p99Ms: 198, maxMs: 200 });
});

test("a ratio is of values that ran side by side, not of their medians", () => {
  // The ratio of the medians would be 2.
  expect(medianRatio([100, 1_000, 90], [50, 400, 30])).toBe(2.5);
  expect(medianRatio([1_000, 100], [2_000, 50, 1])).toBe(1.25);
  expect(medianRatio([], [1])).toBeUndefined();
});
