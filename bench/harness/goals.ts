import type { Result } from "./results.ts";
import type { AnyScenario } from "./scenario.ts";
import { median, medianRatio } from "./statistics.ts";

/** What ours must reach: a share of another's rate, or a bound of a figure. */
export type Goal = (
  | { readonly against: string; readonly ratio: number }
  | { readonly figure: string; readonly atLeast: number }
  /** Below a number, or below the same figure of the contender that is named. */
  | { readonly figure: string; readonly below: number | string }
) & {
  /** Says nothing at the quick size, where it is only shown. */
  readonly needsFullSize?: true;
  /** What was found out about a miss; said beside it. */
  readonly whyMissed?: string;
};

/** How a goal came out. */
export interface GoalOutcome {
  readonly goal: string;
  /** Undefined when the one that it is measured against is missing. */
  readonly value: number | undefined;
  readonly met: boolean | undefined;
  /** Shown, but neither met nor missed counts. */
  readonly informational: boolean;
  /** Why it is missed, where that is known. */
  readonly reason?: string | undefined;
}

/** Evaluates a scenario's goals on what was stored of a run. Ours missing means that they are missed. */
export function evaluateGoals(scenario: AnyScenario, result: Result): GoalOutcome[] {
  const ours = scenario.contenders.find(({ kind }) => kind === "ours")?.name ?? "";
  return scenario.goals.map((goal) => {
    const value = measuredValue(goal, result, ours);
    const isOursMissing = !result.samples[ours]?.length;
    const met = isOursMissing ? false : value === undefined ? undefined : isMet(goal, value, result);
    return {
      goal: describe(goal, scenario),
      value,
      met,
      reason: met === false && !isOursMissing ? goal.whyMissed : undefined,
      informational: goal.needsFullSize === true && result.size === "quick",
    };
  });
}

/** False when a goal that counts is missed, undefined when none could be judged. */
export function isAllMet(outcomes: readonly GoalOutcome[]): boolean | undefined {
  const judged = outcomes.filter(({ met, informational }) => met !== undefined && !informational);
  return judged.length === 0 ? undefined : judged.every(({ met }) => met);
}

/** Samples of one figure of one contender, run by run. */
export function figureOf(result: Result, contender: string, figure: string): number[] {
  return (result.samples[contender] ?? []).map((sample) => sample[figure] ?? Number.NaN);
}

function measuredValue(goal: Goal, result: Result, ours: string): number | undefined {
  if ("against" in goal) {
    const [mine, theirs] = [ours, goal.against].map((name) => figureOf(result, name, "perSecond"));
    return medianRatio(mine ?? [], theirs ?? []);
  }
  const isOpponentMissing =
    "below" in goal && typeof goal.below === "string" && !result.samples[goal.below]?.length;
  const values = figureOf(result, ours, goal.figure);
  return isOpponentMissing || values.length === 0 ? undefined : median(values);
}

function isMet(goal: Goal, value: number, result: Result): boolean {
  if ("against" in goal) return value >= goal.ratio;
  if ("atLeast" in goal) return value >= goal.atLeast;
  if (typeof goal.below === "number") return value < goal.below;
  return value < median(figureOf(result, goal.below, goal.figure));
}

function describe(goal: Goal, { figures }: AnyScenario): string {
  if ("against" in goal) return `≥ ${goal.ratio} × ${goal.against}`;
  const unit = figures[goal.figure] ?? goal.figure;
  const number = (value: number) => value.toLocaleString("en-US");
  if ("atLeast" in goal) return `${unit} ≥ ${number(goal.atLeast)}`;
  return `${unit} < ${typeof goal.below === "number" ? number(goal.below) : `that of ${goal.below}`}`;
}
