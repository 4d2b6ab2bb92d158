import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { invariants } from "./judge/violation.ts";
import type { MutantsResult } from "./mutants/run-mutants.ts";
import { type ChaosResult, failuresOf, isGreen, memoryMegabytesMax } from "./result.ts";

const page = fileURLToPath(new URL("../docs/reliability.md", import.meta.url));

/** Writes docs/reliability.md from the results of runs. @throws Error without a result file */
export async function writeReport(files: readonly string[]): Promise<void> {
  if (files.length === 0) throw new Error("--report needs one or more files that --result wrote.");
  const found = await Promise.all(
    files.map(async (file) => JSON.parse(await readFile(file, "utf8")) as ChaosResult | MutantsResult),
  );
  const runs = found.filter((result): result is ChaosResult => "faults" in result);
  const trials = found.flatMap((result) => ("mutants" in result ? result.mutants : []));
  await writeFile(page, reportOf(runs, trials));
}

/** The page. Says how many faults there were, for "no failure" alone says nothing. */
export function reportOf(results: readonly ChaosResult[], mutants: MutantsResult["mutants"] = []): string {
  return [
    introduction,
    verdictOf(results),
    runsOf(results),
    memoryOf(results),
    brokenOf(results),
    held,
    plantedOf(mutants),
    notPromised,
  ].join("\n\n");
}

const introduction = `# Reliability, measured

Written by \`npm run chaos -- --report\` from the results of runs; not by hand.

A fleet of real processes (coordinators, scheduler workers, command workers, producers, indexers) on an embedded
PostgreSQL is broken on purpose, by a schedule that follows from a seed. Then everything is left in peace, comes to
rest, and is judged by a program that shares no code with the product: it compares what producers had logged as
accepted with tables without keys, ledgers, counters, gaps, files, fires and audit.`;

const held = `## What was judged

${Object.entries(invariants)
  .map(([name, text]) => `- **${name}** ${text}.`)
  .join("\n")}`;

const planted = `That the judge can see is shown by planted bugs (\`npm run chaos -- --mutants\`): each must turn a short run red,
and the product without them must stay green under the same faults.`;

const notPromised = `## What is not promised

- Effects of handlers outside of the command's own transaction happen at least once, not once.
- These faults kill processes, not machines: PostgreSQL ran with \`fsync\` off, on a disk in memory that can be
  made full. What the operating system had was safe, so a power cut was not judged: durability over one is
  PostgreSQL's own, with its default settings, and that of the disk.
- JetStream's default is to sync to its disk every two minutes: a NATS server that loses its power loses
  announcements. The indexers' sweep finds the files.
- An asynchronous replica that is promoted has lost what it had not received.
- Clocks of the database's machine that jump were not tried here: times are compared with that clock alone.
`;

function verdictOf(results: readonly ChaosResult[]): string {
  const sum = (numberOf: (result: ChaosResult) => number) =>
    results.reduce((total, result) => total + numberOf(result), 0);
  const faults = sum((result) => result.faults);
  const failures = sum(failuresOf);
  const bound = `${((3 / Math.max(1, faults)) * 100).toFixed(2)} %`;
  const meaning =
    failures === 0
      ? `No failure in ${faults} faults supports "less than ${bound} of such faults do harm" (the rule of three, 95 %), and no more.`
      : "The runs below that failed are to be looked into.";
  return `**${faults} faults, ${failures} failures.** ${meaning}`;
}

function runsOf(results: readonly ChaosResult[]): string {
  return [
    "| faults | minutes | seed | topics | lost | doubled | invariants | judged |",
    "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ...results.map(rowOf),
    ...results.filter(({ unsettled }) => unsettled.length > 0).map(unsettledOf),
  ].join("\n");
}

/** What was still going on counts as a failure, and as lost where it was looked for: the reader must know. */
function unsettledOf({ seed, unsettled }: ChaosResult): string {
  return `\nThe run of seed ${seed} was judged before it had come to rest: ${unsettled.join("; ")}.`;
}

/** Bounded by queues and prefetch, whatever comes in. */
function memoryOf(results: readonly ChaosResult[]): string {
  const peaks = new Map<string, number>();
  for (const { memoryMegabytes } of results)
    for (const [role, peak] of Object.entries(memoryMegabytes))
      peaks.set(role, Math.max(peaks.get(role) ?? 0, peak));
  const list = [...peaks].map(([role, peak]) => `${role} ${peak}`).join(", ");
  return `The most memory that a process ever had, in MB, also under ten times the usual load: ${list || "not measured"}. More than ${memoryMegabytesMax} would count as a failure.`;
}

function plantedOf(mutants: MutantsResult["mutants"]): string {
  if (mutants.length === 0) return planted;
  const seen = mutants.filter(({ isSeen }) => isSeen).length;
  return [
    `${planted} ${seen} of ${mutants.length} did.\n`,
    "| planted bug | found broken | seconds |",
    "| --- | --- | --- |",
    ...mutants.map(({ what, broken, seconds }) => `| ${what} | ${broken.join(", ")} | ${seconds} |`),
  ].join("\n");
}

function brokenOf(results: readonly ChaosResult[]): string {
  const skipped = new Map(results.flatMap((result) => Object.entries(result.skipped)));
  return [
    "## What was broken, and how often\n",
    "| fault | times |",
    "| --- | --- |",
    ...timesByFault(results).map(([name, times]) => `| ${name} | ${times} |`),
    ...[...skipped].map(([name, reason]) => `\nNot tried: ${name} (${reason}).`),
  ].join("\n");
}

function rowOf(result: ChaosResult): string {
  const { faults, minutes, seed, topics, lost, doubled, invariants: found, judged } = result;
  const amounts = Object.entries(judged)
    .filter(([, amount]) => amount > 0)
    .map(([name, amount]) => `${amount} ${name}`)
    .join(", ");
  const held = `${found.passed}/${found.passed + found.failed}${isGreen(result) ? "" : ", failed"}`;
  return `| ${[faults, minutes, seed, topics, lost, doubled, held, amounts].join(" | ")} |`;
}

function timesByFault(results: readonly ChaosResult[]): [string, number][] {
  const times = new Map<string, number>();
  for (const { byKind } of results)
    for (const [name, count] of Object.entries(byKind)) times.set(name, (times.get(name) ?? 0) + count);
  return [...times].sort(([a], [b]) => a.localeCompare(b));
}
