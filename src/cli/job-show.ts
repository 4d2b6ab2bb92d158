import { Command } from "commander";
import { TallymanError } from "../errors/index.ts";
import type { JobFire, JobInfo, JobStore, Schedule } from "../scheduler/index.ts";
import { formatDuration, parseNumber } from "./command-options.ts";
import { withTallyman } from "./open.ts";
import { alignColumns, type GlobalOptions, printResult } from "./output.ts";

interface Options extends GlobalOptions {
  readonly next: string;
  readonly history: string;
  readonly cursor?: string;
}

/** `tallyman job show`: one job, its next times and its history. */
export function jobShowCommand(): Command {
  return new Command("show")
    .description("show a job with what it sends, its next times and its latest fires")
    .argument("<key>", "the job")
    .option("--next <n>", "next times, up to 1000", "5")
    .option("--history <n>", "latest fires, up to 1000", "10")
    .option("--cursor <text>", "go on with the history after this fire, as --json shows it")
    .addHelpText(
      "after",
      "\nExamples:\n  $ tallyman job show nightly\n  $ tallyman job show nightly --next 50 --json | jq -r '.nextFireTimes[]'",
    )
    .action(async (key: string, _options: Options, command: Command) => {
      const options = command.optsWithGlobals<Options>();
      const shown = await withTallyman(options, ({ scheduler }) => look(scheduler.jobs, key, options));
      printResult(options, shown, describeAll(shown));
    });
}

interface Shown {
  readonly job: JobInfo;
  readonly commands: readonly unknown[];
  readonly nextFireTimes: readonly Date[];
  readonly history: readonly JobFire[];
}

async function look(jobs: JobStore, key: string, { next, history, cursor }: Options): Promise<Shown> {
  const job = await jobs.get(key);
  if (!job)
    throw new TallymanError("JOB_NOT_FOUND", `There is no job '${key}'. 'tallyman job list' shows all.`);
  return {
    job,
    commands: await jobs.payload(key),
    nextFireTimes: await jobs.nextFireTimes(key, parseNumber("--next", next)),
    history: await jobs.history(key, { limit: parseNumber("--history", history), cursor }),
  };
}

function describeAll({ job, commands, nextFireTimes, history }: Shown): string {
  const [first] = commands;
  const more = commands.length > 1 ? `, and ${commands.length - 1} more` : "";
  const times = nextFireTimes.map((time) => `  ${time.toISOString()}`);
  const fires = history.map(({ fireTime, outcome, isManual, runId, missedUntil }) => [
    `  ${fireTime.toISOString()}`,
    isManual ? "BY HAND" : outcome,
    runId ?? (missedUntil ? `until ${missedUntil.toISOString()}` : ""),
  ]);
  return [
    describeJob(job),
    `sends      ${JSON.stringify(first)}${more}`,
    times.length > 0 ? `next\n${times.join("\n")}` : "next       nothing",
    fires.length > 0 ? `history\n${alignColumns(fires)}` : "history    nothing yet",
  ].join("\n");
}

/** A job as a few lines for people. */
export function describeJob(job: JobInfo): string {
  const { target, domain, commandCount, misfirePolicy, overlapPolicy, maxFires, fireCount, jitterMs } = job;
  const what = target === "BATCH" ? `a batch of ${commandCount} commands` : "a command";
  const limits = [
    maxFires === null ? "" : `, ${maxFires} fires at most`,
    job.startAt ? `, from ${job.startAt.toISOString()}` : "",
    job.endAt ? `, until ${job.endAt.toISOString()}` : "",
    jitterMs > 0 ? `, jitter ${formatDuration(jitterMs)}` : "",
  ].join("");
  return alignColumns([
    ["job", job.key],
    [
      "status",
      job.errorMessage === null ? job.status : `${job.status}: ${job.errorMessage} [${job.errorCode}]`,
    ],
    ["schedule", `${describeSchedule(job.schedule)}${limits}`],
    ["fires", `${what} in domain '${domain}'; ${fireCount} so far`],
    ["policies", `misfire ${misfirePolicy}, overlap ${overlapPolicy}`],
    ["segment", `${job.segmentId}`],
    ["next fire", job.nextFireAt?.toISOString() ?? "none"],
  ]);
}

/** A schedule in words. */
export function describeSchedule(schedule: Schedule): string {
  if ("at" in schedule) return `once at ${schedule.at.toISOString()}`;
  if ("everyMs" in schedule) return `every ${formatDuration(schedule.everyMs)}`;
  return `cron ${schedule.cron} (${schedule.timeZone})`;
}
