import { describe, expect, test } from "vitest";
import { evaluateGoals, type Goal, isAllMet } from "./goals.ts";
import type { Result } from "./results.ts";
import { testResult, testScenario } from "./test-scenario.ts";

function outcome(goal: Goal, changes: Partial<Result> = {}) {
  const [only] = evaluateGoals(testScenario({ goals: [goal] }), testResult(changes));
  return only;
}

const { they, light } = testResult().samples;

describe("a ratio", () => {
  test("is met from its own value on", () => {
    expect(outcome({ against: "they", ratio: 3 })).toMatchObject({ goal: "≥ 3 × they", value: 3, met: true });
    expect(outcome({ against: "they", ratio: 3.01 })).toMatchObject({ value: 3, met: false });
  });

  test("against somebody who is missing is neither met nor missed", () => {
    const missing = { samples: { we: testResult().samples.we ?? [] }, missing: { they: "not installed" } };
    expect(outcome({ against: "they", ratio: 3 }, missing)).toMatchObject({
      value: undefined,
      met: undefined,
    });
  });
});

describe("a bound", () => {
  test("holds for the median", () => {
    expect(outcome({ figure: "p99Ms", below: 51 })).toMatchObject({
      goal: "p99 ms < 51",
      value: 50,
      met: true,
    });
    expect(outcome({ figure: "p99Ms", below: 50 })).toMatchObject({ value: 50, met: false });
    expect(outcome({ figure: "perSecond", atLeast: 150 })).toMatchObject({ value: 150, met: true });
    expect(outcome({ figure: "perSecond", atLeast: 151 })).toMatchObject({ met: false });
  });

  test("may be another's figure", () => {
    const goal: Goal = { figure: "p99Ms", below: "they" };
    expect(outcome(goal)).toMatchObject({ goal: "p99 ms < that of they", value: 50, met: true });
    expect(outcome({ figure: "p99Ms", below: "light" })).toMatchObject({ met: false });
    const missing = { samples: { we: testResult().samples.we ?? [], light: light ?? [] } };
    expect(outcome(goal, missing)).toMatchObject({ value: undefined, met: undefined });
  });
});

test("without our own figures every goal is missed", () => {
  const missing = { samples: { they: they ?? [] }, missing: { we: "it failed" } };
  expect(outcome({ against: "they", ratio: 3 }, missing)).toMatchObject({ value: undefined, met: false });
  expect(outcome({ figure: "p99Ms", below: 50 }, missing)).toMatchObject({ met: false });
});

test("a goal that needs the full size is informational at the quick one", () => {
  const goal: Goal = { against: "they", ratio: 9, needsFullSize: true };
  expect(outcome(goal, { size: "quick" })).toMatchObject({ met: false, informational: true });
  expect(outcome(goal)).toMatchObject({ met: false, informational: false });
  expect(outcome({ against: "they", ratio: 9 }, { size: "quick" })).toMatchObject({ informational: false });
});

test("all goals are met when none that counts is missed", () => {
  const judged = (met: boolean | undefined, informational = false) => ({
    goal: "",
    value: 1,
    met,
    informational,
  });
  expect(isAllMet([judged(true), judged(undefined), judged(false, true)])).toBe(true);
  expect(isAllMet([judged(true), judged(false)])).toBe(false);
  expect(isAllMet([judged(undefined), judged(true, true)])).toBeUndefined();
});
