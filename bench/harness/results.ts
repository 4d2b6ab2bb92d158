import { mkdir, readFile, writeFile } from "node:fs/promises";
import { evaluateGoals, figureOf, type GoalOutcome, isAllMet } from "./goals.ts";
import type { Machine } from "./machine.ts";
import type { Sample } from "./measure.ts";
import type { AnyScenario, Contender, SizeName } from "./scenario.ts";
import { median, medianRatio } from "./statistics.ts";

/** What a run of a scenario gave, as it is stored; every table and plot is made of it. */
export interface Result {
  readonly scenario: string;
  readonly size: SizeName;
  readonly sizeValues: unknown;
  readonly finishedAt: string;
  readonly machine: Machine;
  /** By contender, run by run. */
  readonly samples: Readonly<Record<string, readonly Sample[]>>;
  /** How each contender was set up. */
  readonly settings: Readonly<Record<string, string>>;
  /** Why a contender has no samples. */
  readonly missing: Readonly<Record<string, string>>;
}

const folder = new URL("../results/", import.meta.url);

function fileOf(scenario: string, size: SizeName): URL {
  return new URL(size === "full" ? `${scenario}.json` : `${scenario}.quick.json`, folder);
}

export async function storeResult(result: Result): Promise<void> {
  await mkdir(folder, { recursive: true });
  const rounded = (_: string, value: unknown) =>
    typeof value === "number" && !Number.isInteger(value) ? Number(value.toPrecision(6)) : value;
  await writeFile(fileOf(result.scenario, result.size), `${JSON.stringify(result, rounded, 2)}\n`);
}

/** The full run of a scenario, or else its quick one; undefined when neither is stored. */
export async function loadResult(scenario: string): Promise<Result | undefined> {
  for (const size of ["full", "quick"] as const) {
    const text = await readFile(fileOf(scenario, size), "utf8").catch(() => undefined);
    if (text) return JSON.parse(text) as Result;
  }
  return undefined;
}

/** Medians of a contender's figures, or why it has none. */
export type Outcome = Readonly<Record<string, number>> | { readonly missing: string };

/** What `--json` prints of a scenario. */
export interface Summary {
  readonly ours: Outcome;
  readonly peers: Readonly<Record<string, Outcome>>;
  readonly limit: Readonly<Record<string, Outcome>>;
  /** Ours ÷ theirs, by the figure that is compared. */
  readonly ratio: Readonly<Record<string, number>>;
  readonly goal: readonly GoalOutcome[];
  /** Null when no goal that counts could be judged. */
  readonly met: boolean | null;
}

export function summarise(scenario: AnyScenario, result: Result): Summary {
  const ours = scenario.contenders.find(({ kind }) => kind === "ours")?.name ?? "";
  const ofKind = (kind: Contender<unknown>["kind"]) =>
    Object.fromEntries(
      scenario.contenders
        .filter((contender) => contender.kind === kind)
        .map(({ name }) => [name, outcomeOf(result, name)]),
    );
  const goal = evaluateGoals(scenario, result);
  return {
    ours: outcomeOf(result, ours),
    peers: ofKind("peer"),
    limit: ofKind("limit"),
    ratio: ratios(scenario, result, ours),
    goal: goal.map((each) => ({ ...each, value: each.value && shortened(each.value) })),
    met: isAllMet(goal) ?? null,
  };
}

function outcomeOf(result: Result, contender: string): Outcome {
  const first = result.samples[contender]?.[0];
  if (!first) return { missing: result.missing[contender] ?? "not measured" };
  const names = Object.keys(first).filter((name) => name !== "items" && name !== "seconds");
  return Object.fromEntries(
    names.map((name) => [name, shortened(median(figureOf(result, contender, name)))]),
  );
}

function ratios(scenario: AnyScenario, result: Result, ours: string): Record<string, number> {
  const [figure = "perSecond"] = Object.keys(scenario.figures);
  const mine = figureOf(result, ours, figure);
  const others = scenario.contenders.filter(({ kind }) => kind !== "ours");
  return Object.fromEntries(
    others.flatMap(({ name }) => {
      const ratio = medianRatio(mine, figureOf(result, name, figure));
      return ratio === undefined ? [] : [[name, shortened(ratio)]];
    }),
  );
}

/** Four digits: more would not be the same next time. */
export function shortened(value: number): number {
  return Math.abs(value) >= 1_000 ? Math.round(value) : Number(value.toPrecision(4));
}
