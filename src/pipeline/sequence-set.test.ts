import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SequenceSet } from "./sequence-set.ts";

const step = 3;
const slot = fc.integer({ min: 0, max: 30 });
const change = fc.oneof(
  fc.record({ kind: fc.constant("add" as const), at: slot }),
  fc.record({ kind: fc.constant("delete" as const), at: slot }),
  fc.record({ kind: fc.constant("range" as const), at: slot, length: fc.integer({ min: 0, max: 8 }) }),
);

/** Maximal stretches of neighbours in a plain set. */
function stretches(model: ReadonlySet<number>): number {
  return [...model].filter((value) => !model.has(value - step)).length;
}

describe("SequenceSet", () => {
  it("behaves as a plain set, in as few ranges as there are stretches", () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 60 }), (changes) => {
        const set = new SequenceSet(step);
        const model = new Set<number>();
        for (const { at, ...rest } of changes) {
          const value = at * step;
          if (rest.kind === "add") {
            expect(set.add(value)).toBe(!model.has(value));
            model.add(value);
          } else if (rest.kind === "delete") {
            set.delete(value);
            model.delete(value);
          } else {
            set.addRange(value, value + rest.length * step + 1);
            for (let index = 0; index <= rest.length; index++) model.add(value + index * step);
          }
          expect(set.ranges).toBe(stretches(model));
        }
        for (let value = 0; value < 130; value++) expect(set.has(value)).toBe(model.has(value));
      }),
    );
  });

  it.each([-3, 4, 1.5, Number.NaN, 2 ** 53])("never holds %d, which is not on its grid", (value) => {
    const set = new SequenceSet(step);
    set.addRange(0, 30);
    expect(set.add(value)).toBe(true);
    expect(set.add(value)).toBe(true);
    expect(set.has(value)).toBe(false);
  });

  it("keeps a million neighbours in one range", () => {
    const set = new SequenceSet(10);
    for (let value = 0; value < 1e7; value += 10) set.add(value);
    expect(set.ranges).toBe(1);
  });
});
