import { describe, expect, expectTypeOf, it } from "vitest";
import { numberBetween, oneOf, required, resolveOptions, wholeNumber } from "./index.ts";

interface Options {
  readonly topic: string;
  readonly insertBatchSize: number;
  readonly flushTimeoutMs: number;
  readonly maxRetries: number;
  readonly jitter: number;
  readonly source: "topic" | "discovery";
  readonly runId?: string;
}

function resolve(given: Record<string, unknown>): Readonly<Options> {
  return resolveOptions<Options>(
    {
      topic: required,
      insertBatchSize: 1_000,
      flushTimeoutMs: 5_000,
      maxRetries: 3,
      jitter: 0.2,
      source: "topic",
      runId: undefined,
    },
    { topic: "batches", ...given },
    {
      maxRetries: wholeNumber({ min: 0, max: 10 }),
      jitter: numberBetween(0, 1),
      source: oneOf("topic", "discovery"),
      flushTimeoutMs: (value, { insertBatchSize }) =>
        value >= insertBatchSize ? undefined : "at least insertBatchSize",
    },
  );
}

describe("resolveOptions", () => {
  it("puts the given values over the defaults, takes undefined for not given, and freezes", () => {
    const options = resolve({ insertBatchSize: 5, maxRetries: 0, source: undefined });
    expect(options).toEqual({
      topic: "batches",
      insertBatchSize: 5,
      flushTimeoutMs: 5_000,
      maxRetries: 0,
      jitter: 0.2,
      source: "topic",
      runId: undefined,
    });
    expect(Object.isFrozen(options)).toBe(true);
    expectTypeOf(options).toEqualTypeOf<Readonly<Options>>();
  });

  it.each([
    [{ insertBatchSise: 5 }, "Unknown option 'insertBatchSise'. Did you mean 'insertBatchSize'?"],
    [{ constructor: 5 }, "Unknown option 'constructor'. Known: topic,"],
    [{ topic: undefined }, "Option 'topic' must be given."],
    [{ insertBatchSize: 0 }, "Option 'insertBatchSize' must be a whole number of at least 1, but is 0."],
    [{ insertBatchSize: -3 }, "Option 'insertBatchSize' must be a whole number of at least 1, but is -3."],
    [{ insertBatchSize: 1.5 }, "Option 'insertBatchSize' must be a whole number of at least 1, but is 1.5."],
    [
      { insertBatchSize: Number.NaN },
      "Option 'insertBatchSize' must be a whole number of at least 1, but is NaN.",
    ],
    [{ insertBatchSize: "5" }, "Option 'insertBatchSize' must be a number, but is '5'."],
    [{ insertBatchSize: null }, "Option 'insertBatchSize' must be a number, but is null."],
    [{ insertBatchSize: {} }, "Option 'insertBatchSize' must be a number, but is of type object."],
    [{ maxRetries: 11 }, "Option 'maxRetries' must be a whole number from 0 to 10, but is 11."],
    [{ jitter: 1.1 }, "Option 'jitter' must be a number from 0 to 1, but is 1.1."],
    [{ source: "file" }, "Option 'source' must be one of topic, discovery, but is 'file'."],
    [{ source: "pg://u:hunter2@h" }, "but is 'pg://u:***@h'."],
    [{ flushTimeoutMs: 5 }, "Option 'flushTimeoutMs' must be at least insertBatchSize, but is 5."],
  ])("refuses %o", (given, message) => {
    expect(() => resolve(given)).toThrow(
      expect.objectContaining({
        code: "INVALID_OPTION",
        message: expect.stringContaining(message),
        details: { option: Object.keys(given)[0] },
      }),
    );
  });

  it("needs neither given values nor rules", () => {
    expect(resolveOptions({ pollIntervalMs: 100 })).toEqual({ pollIntervalMs: 100 });
  });
});
