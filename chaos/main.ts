/** Breaks Tallyman on purpose and judges what is left; see `--help`. */
import { writeFile } from "node:fs/promises";
import { configureLogging } from "../src/index.ts";
import { faultsFor } from "./faults/table.ts";
import { areAllSeen, runMutants } from "./mutants/run-mutants.ts";
import { type ChaosOptions, parseTask, type Task, usage } from "./options.ts";
import { writeReport } from "./report.ts";
import { isGreen, summaryOf } from "./result.ts";
import { runChaos } from "./run.ts";

const tell = (line: string) => void process.stderr.write(`${line}\n`);

async function runOnce(
  { options, resultFile, json }: Task & { kind: "run" },
  interrupt: AbortSignal,
): Promise<boolean> {
  const { result, folder } = await runChaos(options, tell, interrupt);
  if (resultFile) await writeFile(resultFile, `${JSON.stringify(result, null, 2)}\n`);
  console.log(json ? JSON.stringify(result, null, 2) : summaryOf(result));
  if (!isGreen(result))
    tell(`database, logs and schedule are in ${folder}; replay with --seed ${options.seed}`);
  return isGreen(result);
}

async function plantBugs(
  { names, resultFile }: Task & { kind: "mutants" },
  signal: AbortSignal,
): Promise<boolean> {
  const result = await runMutants(names, { tell, signal });
  if (resultFile) await writeFile(resultFile, `${JSON.stringify(result, null, 2)}\n`);
  const seen = result.mutants.filter(({ isSeen }) => isSeen).length;
  console.log(`${seen}/${result.mutants.length}`);
  return areAllSeen(result);
}

async function perform(task: Task): Promise<boolean> {
  if (task.kind === "report") return writeReport(task.resultFiles).then(() => true);
  const interrupt = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => interrupt.abort());
  if (task.kind === "mutants") return plantBugs(task, interrupt.signal);
  return runOnce(task, interrupt.signal);
}

/** What the command line asks for; undefined when it makes no sense, and why was said. */
function askedTask(args: readonly string[]): Task | undefined {
  try {
    const task = parseTask(args);
    if (task.kind === "run") refuseUnknownFault(task.options);
    return task;
  } catch (error) {
    tell(`${(error as Error).message}\n\n${usage}`);
    return undefined;
  }
}

function refuseUnknownFault(options: ChaosOptions): void {
  const known = faultsFor(options).map(({ name }) => name);
  const unknown = options.faults.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new Error(`There is no fault '${unknown}' here; there are ${known.join(", ")}.`);
}

const usageExitCode = 2;

if (process.argv.includes("--help")) {
  console.log(usage);
} else {
  // The harness breaks its database all the time: that it was lost, or does not start, is no news.
  configureLogging({ sink: () => undefined });
  const task = askedTask(process.argv.slice(2));
  process.exit(task ? ((await perform(task)) ? 0 : 1) : usageExitCode);
}
