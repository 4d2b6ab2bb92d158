/** Tallyman beside what one might pick instead, and beside what the machine can do at best; see `--help`. */
import { evaluateGoals } from "./harness/goals.ts";
import { installPeers } from "./harness/peer-packages.ts";
import { shown } from "./harness/plot.ts";
import { verdict, writeReport } from "./harness/report.ts";
import { type Result, storeResult, summarise } from "./harness/results.ts";
import { runScenario } from "./harness/runner.ts";
import type { AnyScenario } from "./harness/scenario.ts";
import { startBenchServer } from "./harness/server.ts";
import { type BenchTask, parseTask, usage } from "./options.ts";
import { scenarios } from "./scenarios/index.ts";

function printGoals(scenario: AnyScenario, result: Result): void {
  for (const outcome of evaluateGoals(scenario, result)) {
    const value = outcome.value === undefined ? "missing" : shown(outcome.value);
    console.log(`${scenario.name}: ${outcome.goal}: ${value}, ${verdict(outcome).replaceAll("*", "")}`);
  }
}

type Summaries = Record<string, ReturnType<typeof summarise>>;

async function measureAll({ chosen, size, runs, json }: BenchTask): Promise<Summaries> {
  installPeers();
  await using server = await startBenchServer();
  const summaries: Summaries = {};
  for (const scenario of chosen) {
    const result = await runScenario(scenario, server, { size, runs });
    await storeResult(result);
    summaries[scenario.name] = summarise(scenario, result);
    if (!json) printGoals(scenario, result);
  }
  return summaries;
}

/** Whether all goals that had to be met are. */
async function perform(task: BenchTask): Promise<boolean> {
  const summaries = task.chosen.length > 0 ? await measureAll(task) : {};
  if (task.json) console.log(JSON.stringify(summaries, undefined, 2));
  if (task.report) await writeReport(scenarios);
  return !task.check || Object.values(summaries).every(({ met }) => met !== false);
}

/** What the command line asks for; undefined when it makes no sense, and why was said. */
function askedTask(args: readonly string[]): BenchTask | undefined {
  try {
    return parseTask(args);
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`);
    return undefined;
  }
}

const usageExitCode = 2;

// A reader that leaves early, as `| head` does, must not leave the server behind.
process.stdout.on("error", () => undefined);

if (process.argv.includes("--help")) {
  console.log(usage);
} else {
  const task = askedTask(process.argv.slice(2));
  process.exitCode = task ? ((await perform(task)) ? 0 : 1) : usageExitCode;
}
