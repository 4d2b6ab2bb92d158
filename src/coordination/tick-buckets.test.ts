import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bucketTicks, type TickBucket } from "./tick-buckets.ts";

type Ranges = Parameters<typeof bucketTicks>[0];

const totalOf = (buckets: readonly TickBucket[], tickClass: keyof TickBucket["counts"]) =>
  buckets.reduce((sum, { counts }) => sum + counts[tickClass], 0);

describe("bucketTicks", () => {
  it("counts each class at its place", () => {
    const ranges: Ranges = [
      { tickClass: "indexed", start: 0, end: 190 },
      { tickClass: "pending", start: 200, end: 290 },
      { tickClass: "failed", start: 300, end: 390 },
    ];
    const none = { indexed: 0, in_flight: 0, failed: 0, pending: 0, permanent: 0, missing: 0 };
    expect(bucketTicks(ranges, { samplingInterval: 10, buckets: 4 })).toEqual([
      { start: 0, end: 90, counts: { ...none, indexed: 10 } },
      { start: 100, end: 190, counts: { ...none, indexed: 10 } },
      { start: 200, end: 290, counts: { ...none, pending: 10 } },
      { start: 300, end: 390, counts: { ...none, failed: 10 } },
    ]);
    expect(bucketTicks(ranges, { samplingInterval: 10, buckets: 1, from: 185, to: 305 })).toEqual([
      { start: 190, end: 300, counts: { ...none, indexed: 1, pending: 10, failed: 1 } },
    ]);
  });

  it("has nothing to show without ticks", () => {
    expect(bucketTicks([], { samplingInterval: 1, buckets: 5 })).toEqual([]);
    expect(bucketTicks([], { samplingInterval: 10, buckets: 5, from: 11, to: 19 })).toEqual([]);
  });

  it("is as long as asked for, joins without holes and loses no tick, however many ranges there are", () => {
    const classes = ["indexed", "in_flight", "failed", "pending", "permanent", "missing"] as const;
    const lengthMax = 4e10; // 200 of them, a thousand apart, stay below 2^53
    const lengths = fc.array(fc.tuple(fc.constantFrom(...classes), fc.integer({ min: 1, max: lengthMax })), {
      minLength: 1,
      maxLength: 200,
    });
    const intervals = fc.integer({ min: 1, max: 1_000 });
    fc.assert(
      fc.property(lengths, intervals, fc.integer({ min: 1, max: 300 }), (parts, samplingInterval, width) => {
        let next = 0;
        const ranges = parts.map(([tickClass, length]) => {
          const start = next * samplingInterval;
          next += length;
          return { tickClass, start, end: (next - 1) * samplingInterval };
        });
        const buckets = bucketTicks(ranges, { samplingInterval, buckets: width });
        expect(buckets).toHaveLength(Math.min(width, next));
        for (const tickClass of classes) {
          const length = parts.reduce((sum, [each, count]) => sum + (each === tickClass ? count : 0), 0);
          expect(totalOf(buckets, tickClass)).toBe(length);
        }
        buckets.reduce((before, { start, end }) => {
          expect(start).toBe(before + samplingInterval);
          return end;
        }, -samplingInterval);
      }),
    );
  });
});
