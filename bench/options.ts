import { parseArgs } from "node:util";
import type { AnyScenario } from "./harness/scenario.ts";
import { scenarios } from "./scenarios/index.ts";

/** What the command line asks for. */
export interface BenchTask {
  /** None: nothing is measured. */
  readonly chosen: readonly AnyScenario[];
  readonly size: "quick" | "full";
  /** How often each contender works. */
  readonly runs: number;
  readonly json: boolean;
  readonly report: boolean;
  readonly check: boolean;
}

export const usage = `npm run bench -- [options]
  --scenario NAME…  only these, all of them without; \`topic\` means all that begin with \`topic-\`:
                    ${listed(scenarios.map(({ name }) => name))}
  --runs N          how often each contender works (default 5)
  --quick           smaller sizes, and each contender works once
  --json            prints { scenario: { ours, peers, limit, ratio, goal, met } }
  --report          writes docs/benchmarks.md from the stored results; alone, it measures nothing
  --check           ends with exit code 1 when a goal is missed

Results are stored in bench/results/. How things are measured: bench/harness/runner.ts and measure.ts.`;

/** @throws Error when an option is unknown or makes no sense */
export function parseTask(args: readonly string[]): BenchTask {
  const { values } = parseArgs({
    args: [...args],
    options: {
      scenario: { type: "string", multiple: true, default: [] },
      runs: { type: "string" },
      quick: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      report: { type: "boolean", default: false },
      check: { type: "boolean", default: false },
    },
  });
  const { scenario, runs, quick, json, report, check } = values;
  return {
    chosen: report && args.length === 1 ? [] : chosenScenarios(scenario),
    size: quick ? "quick" : "full",
    runs: chosenRuns(runs ?? (quick ? "1" : "5")),
    json,
    report,
    check,
  };
}

/** A name means the scenario of that name; when there is none, all that begin with it. */
function chosenScenarios(wanted: readonly string[]): readonly AnyScenario[] {
  if (wanted.length === 0) return scenarios;
  return wanted.flatMap((name) => {
    const exact = scenarios.filter((scenario) => scenario.name === name);
    const found = exact.length > 0 ? exact : scenarios.filter((other) => other.name.startsWith(`${name}-`));
    if (found.length === 0) throw new Error(`There is no scenario '${name}'.`);
    return found;
  });
}

function chosenRuns(text: string): number {
  const runs = Number(text);
  if (!Number.isInteger(runs) || runs < 1) throw new Error("--runs takes a whole number of at least 1.");
  return runs;
}

/** Names in lines that a terminal holds. */
function listed(names: readonly string[]): string {
  const perLine = 5;
  const lines = names.flatMap((_, at) =>
    at % perLine === 0 ? [names.slice(at, at + perLine).join(", ")] : [],
  );
  return lines.join(",\n                    ");
}
