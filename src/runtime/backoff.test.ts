import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { FakeClock } from "../testing/index.ts";
import { backoffMs, retry } from "./index.ts";

const backoff = { initialMs: 100, maxMs: 1_000, factor: 2, jitter: 0 };

describe("backoffMs", () => {
  it("grows by the factor up to the maximum", () => {
    const delays = [1, 2, 3, 4, 5, 6, 5_000].map((attempt) => backoffMs(attempt, backoff));
    expect(delays).toEqual([100, 200, 400, 800, 1_000, 1_000, 1_000]);
  });

  it("leaves the share named by jitter to chance", () => {
    const half = { ...backoff, jitter: 0.5 };
    expect(backoffMs(1, half, () => 0)).toBe(100);
    expect(backoffMs(1, half, () => 1)).toBe(50);
    expect(backoffMs(1, { ...backoff, jitter: 1 }, () => 1)).toBe(0);
  });

  it("stays between the jittered minimum and the maximum for any attempt", () => {
    fc.assert(
      fc.property(
        fc.record({
          attempt: fc.integer({ min: 1, max: 10_000 }),
          initialMs: fc.integer({ min: 1, max: 1_000 }),
          maxMs: fc.integer({ min: 1, max: 100_000 }),
          factor: fc.double({ min: 1, max: 10, noNaN: true }),
          jitter: fc.double({ min: 0, max: 1, noNaN: true }),
          random: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
        }),
        ({ attempt, random, ...options }) => {
          const delayMs = backoffMs(attempt, options, () => random);
          const floorMs = Math.min(options.initialMs, options.maxMs) * (1 - options.jitter);
          expect(delayMs).toBeGreaterThanOrEqual(Math.floor(floorMs));
          expect(delayMs).toBeLessThanOrEqual(options.maxMs);
        },
      ),
    );
  });
});

describe("retry", () => {
  const isRetryable = (error: unknown) => (error as Error).message === "again";

  it("tries until it succeeds, with the delays of the backoff between", async () => {
    const clock = new FakeClock();
    const startedAt: number[] = [];
    const result = retry(
      async (attempt) => {
        startedAt.push(clock.monotonicMs());
        if (attempt < 3) throw new Error("again");
        return attempt;
      },
      { attemptsMax: 5, backoff, isRetryable, clock },
    );
    await clock.advance(10_000);
    await expect(result).resolves.toBe(3);
    expect(startedAt).toEqual([0, 100, 300]);
  });

  it("throws the last error unchanged when the attempts are used up", async () => {
    const clock = new FakeClock();
    const errors = [new Error("again"), new Error("again")];
    const operation = vi.fn(async (attempt: number) => Promise.reject(errors[attempt - 1]));
    const result = expect(retry(operation, { attemptsMax: 2, backoff, isRetryable, clock })).rejects.toBe(
      errors[1],
    );
    await clock.advance(10_000);
    await result;
    expect(operation).toHaveBeenCalledTimes(2);
  });

  it("throws at once what is not retryable", async () => {
    const operation = vi.fn(async () => Promise.reject(new Error("never")));
    const options = { attemptsMax: 5, backoff, isRetryable, clock: new FakeClock() };
    await expect(retry(operation, options)).rejects.toThrow("never");
    expect(operation).toHaveBeenCalledTimes(1);
  });

  it("stops waiting when aborted, and begins nothing on an aborted signal", async () => {
    const controller = new AbortController();
    const operation = vi.fn(async () => Promise.reject(new Error("again")));
    const clock = new FakeClock();
    const options = { attemptsMax: 5, backoff, isRetryable, clock, signal: controller.signal };
    const result = expect(retry(operation, options)).rejects.toMatchObject({ code: "ABORTED" });
    await clock.advance(0);
    controller.abort();
    await result;
    await expect(retry(operation, options)).rejects.toMatchObject({ code: "ABORTED" });
    expect(operation).toHaveBeenCalledTimes(1);
  });
});
