import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SlidingWindowCounter } from "./sliding-window-counter.ts";
import { SlidingWindowPercentiles } from "./sliding-window-percentiles.ts";

function clockAt(startMs: number) {
  let now = startMs;
  return {
    nowMs: () => now,
    advance(ms: number) {
      now += ms;
    },
  };
}

const windowMs = 5000;
const slotMs = windowMs / 5;

/** Records with pauses between them, short and long ones. */
const anyRecords = fc.array(
  fc.record({
    pauseMs: fc.oneof(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 0, max: 12_000 })),
    value: fc.integer({ min: 1, max: 1000 }),
  }),
  { minLength: 1, maxLength: 60 },
);

const anyStartMs = fc.integer({ min: 0, max: 1_000_000 });

/** What the window promises: the present slot and the four before it. */
function insideWindow(atMs: number, nowMs: number): boolean {
  return Math.floor(nowMs / slotMs) - Math.floor(atMs / slotMs) < 5;
}

describe("SlidingWindowCounter", () => {
  it("counts exactly what lies inside the window, however time passes", () => {
    fc.assert(
      fc.property(anyStartMs, anyRecords, (startMs, records) => {
        const clock = clockAt(startMs);
        const counter = new SlidingWindowCounter(5, clock.nowMs);
        const log: { atMs: number; value: number }[] = [];
        for (const { pauseMs, value } of records) {
          clock.advance(pauseMs);
          counter.recordCount(value);
          log.push({ atMs: clock.nowMs(), value });
          const inside = log.filter(({ atMs }) => insideWindow(atMs, clock.nowMs()));
          expect(counter.getWindowSum()).toBe(inside.reduce((sum, record) => sum + record.value, 0));
        }
      }),
    );
  });

  it("keeps an event for at least four fifths of the window and at most all of it", () => {
    fc.assert(
      fc.property(anyStartMs, (startMs) => {
        const clock = clockAt(startMs);
        const counter = new SlidingWindowCounter(5, clock.nowMs);
        counter.recordCount();
        clock.advance(windowMs - slotMs);
        expect(counter.getWindowSum()).toBe(1);
        clock.advance(slotMs);
        expect(counter.getWindowSum()).toBe(0);
      }),
    );
  });

  it("tells the exact rate of a steady stream, wherever between two slots it is asked", () => {
    const clock = clockAt(0);
    const counter = new SlidingWindowCounter(5, clock.nowMs);
    for (let event = 0; event < 1000; event++) {
      counter.recordCount(3);
      clock.advance(10);
      if (clock.nowMs() >= windowMs) expect(counter.getRate()).toBeCloseTo(300, 6);
    }
  });

  it("has a default window of five seconds, and takes others", () => {
    const clock = clockAt(0);
    const byDefault = new SlidingWindowCounter(undefined, clock.nowMs);
    const minute = new SlidingWindowCounter(60, clock.nowMs);
    for (const counter of [byDefault, minute]) counter.recordCount(7);
    clock.advance(5000);
    expect([byDefault.getWindowSum(), minute.getWindowSum()]).toEqual([0, 7]);
    clock.advance(55_000);
    expect(minute.getWindowSum()).toBe(0);
  });

  it("takes the moment from a caller that knows it", () => {
    const clock = clockAt(0);
    const counter = new SlidingWindowCounter(5, clock.nowMs);
    counter.recordCount(4, 3000);
    clock.advance(7999);
    expect(counter.getWindowSum()).toBe(4);
    clock.advance(1);
    expect(counter.getWindowSum()).toBe(0);
  });

  it("stays in its slot when a clock runs backwards", () => {
    const clock = clockAt(10_000);
    const counter = new SlidingWindowCounter(5, clock.nowMs);
    counter.recordCount();
    clock.advance(-9000);
    counter.recordCount();
    expect(counter.getWindowSum()).toBe(2);
  });

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])(
    "refuses a window of %d seconds",
    (windowSeconds) => {
      expect(() => new SlidingWindowCounter(windowSeconds)).toThrow(
        expect.objectContaining({ code: "INVALID_OPTION", details: { metricsWindowSeconds: windowSeconds } }),
      );
    },
  );
});

describe("SlidingWindowPercentiles", () => {
  it("agrees with a sorted array of what lies inside the window, however time passes", () => {
    fc.assert(
      fc.property(anyStartMs, anyRecords, (startMs, records) => {
        const clock = clockAt(startMs);
        const latency = new SlidingWindowPercentiles(5, clock.nowMs);
        const log: { atMs: number; value: number }[] = [];
        for (const { pauseMs, value } of records) {
          clock.advance(pauseMs);
          latency.record(value);
          log.push({ atMs: clock.nowMs(), value });
        }
        const sorted = log
          .filter(({ atMs }) => insideWindow(atMs, clock.nowMs()))
          .map((record) => record.value)
          .sort((a, b) => a - b);
        for (const percent of [50, 95, 99]) {
          const exact = sorted[Math.ceil((percent * sorted.length) / 100) - 1] ?? 0;
          expect(Math.abs(latency.getPercentile(percent) - exact)).toBeLessThanOrEqual(exact * 0.05);
        }
        expect(latency.getAverage()).toBeCloseTo(sorted.reduce((a, b) => a + b, 0) / sorted.length, 9);
      }),
    );
  });

  it("forgets a slow period once the window has passed it", () => {
    const clock = clockAt(0);
    const latency = new SlidingWindowPercentiles(5, clock.nowMs);
    latency.record(2000);
    clock.advance(3000);
    latency.record(1);
    expect(latency.getPercentile(99)).toBeGreaterThan(1900);
    clock.advance(2000);
    expect(latency.getPercentile(99)).toBeCloseTo(1, 1);
    expect(latency.getAverage()).toBe(1);
    clock.advance(60_000);
    expect([latency.getPercentile(99), latency.getAverage()]).toEqual([0, 0]);
  });

  it("does not record what is not a duration", () => {
    const latency = new SlidingWindowPercentiles();
    for (const value of [Number.NaN, -1, Number.POSITIVE_INFINITY]) latency.record(value);
    expect([latency.getPercentile(99), latency.getAverage()]).toEqual([0, 0]);
  });
});
