import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { segmentsOf } from "./segments.ts";

describe("segmentsOf", () => {
  it("covers every number once, in order, with no hole inside a segment and one after each", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.integer({ min: 0, max: 200 })),
        fc.integer({ min: 1, max: 9 }),
        (slots, step) => {
          const numbers = slots.map((slot) => slot * step);
          const segments = segmentsOf(numbers, (number) => number, step);
          expect(segments.flatMap(({ records }) => records)).toEqual(numbers.toSorted((a, b) => a - b));
          segments.forEach(({ first, last, records }, index) => {
            expect(records.length).toBe((last - first) / step + 1);
            expect([records[0], records.at(-1)]).toEqual([first, last]);
            expect((segments[index + 1]?.first ?? Number.POSITIVE_INFINITY) - last).toBeGreaterThan(step);
          });
        },
      ),
    );
  });
});
