import { describe, expect, test } from "vitest";
import { scenarios } from "../scenarios/index.ts";
import { barPlot } from "./plot.ts";
import { reportText } from "./report.ts";
import { summarise } from "./results.ts";
import { testResult, testScenario } from "./test-scenario.ts";

const scenario = testScenario({ goals: [{ against: "they", ratio: 4 }] });
const { we, light } = testResult().samples;
const withoutThem = testResult({
  samples: { we: we ?? [], light: light ?? [] },
  missing: { they: "not installed" },
});

describe("the report", () => {
  test("has medians with their spread, ratios, settings and goals", () => {
    const text = reportText([{ scenario, result: testResult() }]);
    expect(text).toContain("| they | 3 | 50 (50–50) | 80 (70–90) |");
    expect(text).toContain("| we |  | 150 (100–200) | 50 (40–60) |");
    expect(text).toContain("- they: settings of they");
    expect(text).toContain("| [race](#race) | ≥ 4 × they | 3 | **missed** |");
    expect(text).toContain("![race](images/bench-race.svg)");
  });

  test("shows who is missing with the reason, never as a zero", () => {
    const text = reportText([{ scenario, result: withoutThem }]);
    expect(text).toContain("| they |  | missing: not installed |");
    expect(text).toContain("| ≥ 4 × they | missing | not measured |");
  });

  test("says that a goal needs the full size", () => {
    const goals = [{ against: "they", ratio: 4, needsFullSize: true } as const];
    const text = reportText([{ scenario: testScenario({ goals }), result: testResult({ size: "quick" }) }]);
    expect(text).toContain("**missed** (needs the full size: informational)");
  });
});

test("the report says why a goal is missed", () => {
  const goals = [{ against: "they", ratio: 4, whyMissed: "they cheat" }];
  const text = reportText([{ scenario: testScenario({ goals }), result: testResult() }]);
  expect(text).toContain("| ≥ 4 × they | 3 | **missed**: they cheat |");
  const met = [{ against: "they", ratio: 2, whyMissed: "they cheat" }];
  expect(reportText([{ scenario: testScenario({ goals: met }), result: testResult() }])).not.toContain(
    "cheat",
  );
});

describe("the summary", () => {
  test("is what --json promises", () => {
    expect(summarise(scenario, testResult())).toEqual({
      ours: { perSecond: 150, p99Ms: 50 },
      peers: { they: { perSecond: 50, p99Ms: 80 } },
      limit: { light: { perSecond: 1_000, p99Ms: 1 } },
      ratio: { they: 3, light: 0.15 },
      goal: [{ goal: "≥ 4 × they", value: 3, met: false, informational: false }],
      met: false,
    });
  });

  test("has reasons in place of figures", () => {
    const { peers, ratio, met } = summarise(scenario, withoutThem);
    expect(peers).toEqual({ they: { missing: "not installed" } });
    expect(ratio).toEqual({ light: 0.15 });
    expect(met).toBeNull();
  });
});

describe("a plot", () => {
  test("has bars in proportion to the medians, with a line over their spread", () => {
    const svg = barPlot("race", "laps/s", [
      { label: "we", kind: "ours", value: { median: 50, lowest: 25, highest: 100 } },
      { label: "they", kind: "peer", value: { median: 100, lowest: 100, highest: 100 } },
    ]);
    const widths = [...svg.matchAll(/<rect [^>]*width="(\d+)"/g)].map((match) => Number(match[1]));
    expect(widths[1]).toBe(2 * (widths[0] ?? 0));
    expect(svg).toContain('<path class="spread"');
  });

  test("names who is missing, without a bar", () => {
    const svg = barPlot("race", "laps/s", [
      { label: "they", kind: "peer", value: { missing: "not installed" } },
    ]);
    expect(svg).toContain("they");
    expect(svg).toContain("missing");
    expect(svg).not.toContain("<rect");
  });
});

describe("the scenarios", () => {
  test.each(scenarios)(
    "$name has one of ours, and goals against contenders and figures that exist",
    (each) => {
      expect(each.contenders.filter(({ kind }) => kind === "ours")).toHaveLength(1);
      const names = each.contenders.map(({ name }) => name);
      expect(new Set(names).size).toBe(names.length);
      expect(each.goals.length).toBeGreaterThan(0);
      for (const goal of each.goals) {
        if ("against" in goal) expect(names).toContain(goal.against);
        else expect(Object.keys(each.figures)).toContain(goal.figure);
        if ("below" in goal && typeof goal.below === "string") expect(names).toContain(goal.below);
      }
    },
  );
});
