import { describe, expect, it } from "vitest";
import { estimateOf, type Observation } from "./estimate.ts";

function estimateAfter(observations: readonly Observation[], totalCount: number) {
  let known: readonly Observation[] = [];
  let estimate = estimateOf(known, { atMs: 0, finished: 0 }, totalCount);
  for (const observation of observations) {
    estimate = estimateOf(known, observation, totalCount);
    known = estimate.observations;
  }
  return estimate;
}

describe("estimateOf", () => {
  it("knows no end before anything has moved", () => {
    expect(estimateAfter([{ atMs: 0, finished: 5 }], 10).endMs).toBeUndefined();
    expect(
      estimateAfter(
        [
          { atMs: 0, finished: 5 },
          { atMs: 1_000, finished: 5 },
        ],
        10,
      ).endMs,
    ).toBeUndefined();
  });

  it("projects the rate onto what is left", () => {
    const { perSecond, endMs } = estimateAfter(
      [
        { atMs: 0, finished: 0 },
        { atMs: 10_000, finished: 200 },
      ],
      1_000,
    );
    expect({ perSecond, endMs }).toEqual({ perSecond: 20, endMs: 50_000 });
  });

  it("forgets what is older than half a minute", () => {
    const { perSecond } = estimateAfter(
      [
        { atMs: 0, finished: 0 },
        { atMs: 20_000, finished: 1_000 },
        { atMs: 45_000, finished: 1_050 },
      ],
      2_000,
    );
    expect(perSecond).toBe(2);
  });
});
