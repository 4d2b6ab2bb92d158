/**
 * Tallyman beside what one might pick instead, and beside what the machine can do at best:
 *
 *   npm run bench -- [--scenario name …] [--runs 5] [--quick] [--json] [--report] [--check]
 *
 * - --scenario: only these; `topic` means all that begin with `topic-`.
 * - --runs: how often each contender works; `--quick` means once, and smaller sizes.
 * - --json: prints `{ scenario: { ours, peers, limit, ratio, goal, met } }`; progress goes to the other output.
 * - --report: writes docs/benchmarks.md and its plots from the stored results; alone, it measures nothing.
 * - --check: ends with exit code 1 when a goal is missed.
 *
 * Results are stored in bench/results/. How things are measured: bench/harness/runner.ts and measure.ts.
 */
import { parseArgs } from "node:util";
import { evaluateGoals } from "./harness/goals.ts";
import { installPeers } from "./harness/peer-packages.ts";
import { shown } from "./harness/plot.ts";
import { verdict, writeReport } from "./harness/report.ts";
import { type Result, storeResult, summarise } from "./harness/results.ts";
import { runScenario } from "./harness/runner.ts";
import type { AnyScenario } from "./harness/scenario.ts";
import { startBenchServer } from "./harness/server.ts";
import { scenarios } from "./scenarios/index.ts";

const { values: flags } = parseArgs({
  options: {
    scenario: { type: "string", multiple: true, default: [] },
    runs: { type: "string" },
    quick: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    report: { type: "boolean", default: false },
    check: { type: "boolean", default: false },
  },
});

function chosenScenarios(): readonly AnyScenario[] {
  if (flags.report && process.argv.length === 3) return [];
  if (flags.scenario.length === 0) return scenarios;
  return flags.scenario.flatMap((wanted) => {
    const found = scenarios.filter(({ name }) => name === wanted || name.startsWith(`${wanted}-`));
    const known = scenarios.map(({ name }) => name).join(", ");
    if (found.length === 0) throw new Error(`There is no scenario ${wanted}; there are ${known}`);
    return found;
  });
}

function chosenRuns(): number {
  const runs = Number(flags.runs ?? (flags.quick ? 1 : 5));
  if (!Number.isInteger(runs) || runs < 1) throw new Error("--runs takes a whole number of at least 1");
  return runs;
}

function printGoals(scenario: AnyScenario, result: Result): void {
  for (const outcome of evaluateGoals(scenario, result)) {
    const value = outcome.value === undefined ? "missing" : shown(outcome.value);
    console.log(`${scenario.name}: ${outcome.goal}: ${value}, ${verdict(outcome).replaceAll("*", "")}`);
  }
}

type Summaries = Record<string, ReturnType<typeof summarise>>;

async function measureAll(chosen: readonly AnyScenario[]): Promise<Summaries> {
  const options = { size: flags.quick ? "quick" : "full", runs: chosenRuns() } as const;
  installPeers();
  await using server = await startBenchServer();
  const summaries: Summaries = {};
  for (const scenario of chosen) {
    const result = await runScenario(scenario, server, options);
    await storeResult(result);
    summaries[scenario.name] = summarise(scenario, result);
    if (!flags.json) printGoals(scenario, result);
  }
  return summaries;
}

const chosen = chosenScenarios();
const summaries = chosen.length > 0 ? await measureAll(chosen) : {};
if (flags.json) console.log(JSON.stringify(summaries, undefined, 2));
if (flags.report) await writeReport(scenarios);
if (flags.check && Object.values(summaries).some(({ met }) => met === false)) process.exitCode = 1;
