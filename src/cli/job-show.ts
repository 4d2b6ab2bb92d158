import { Command } from "commander";
import type { Api, Caller } from "../client/index.ts";
import { formatDuration, given, parseNumber } from "./command-options.ts";
import { withCaller } from "./open.ts";
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
      const shown = await withCaller(options, (caller) => look(caller, key, options));
      printResult(options, shown, describeAll(shown));
    });
}

/** A job as the API shows it. */
export type Job = Api["GET /api/jobs/:key"]["data"];

async function look(caller: Caller, key: string, { next, history, cursor }: Options) {
  const params = { key };
  const count = parseNumber("--next", next);
  const page = { limit: parseNumber("--history", history), ...given({ cursor }) };
  const job = await caller.call("GET /api/jobs/:key", { params });
  const [commands, nextFireTimes, { items }] = await Promise.all([
    caller.call("GET /api/jobs/:key/payload", { params }),
    caller.call("GET /api/jobs/:key/next", { params, query: { count } }),
    caller.call("GET /api/jobs/:key/history", { params, query: page }),
  ]);
  return { job, commands, nextFireTimes, history: items };
}

function describeAll({ job, commands, nextFireTimes, history }: Awaited<ReturnType<typeof look>>): string {
  const [first] = commands;
  const more = commands.length > 1 ? `, and ${commands.length - 1} more` : "";
  const times = nextFireTimes.map((time) => `  ${time}`);
  const fires = history.map(({ fireTime, outcome, isManual, runId, missedUntil }) => [
    `  ${fireTime}`,
    isManual ? "BY HAND" : outcome,
    runId ?? (missedUntil ? `until ${missedUntil}` : ""),
  ]);
  return [
    describeJob(job),
    `sends      ${JSON.stringify(first)}${more}`,
    times.length > 0 ? `next\n${times.join("\n")}` : "next       nothing",
    fires.length > 0 ? `history\n${alignColumns(fires)}` : "history    nothing yet",
  ].join("\n");
}

/** A job as a few lines for people. */
export function describeJob(job: Job): string {
  const { target, domain, commandCount, misfirePolicy, overlapPolicy, maxFires, fireCount, jitterMs } = job;
  const what = target === "BATCH" ? `a batch of ${commandCount} commands` : "a command";
  const limits = [
    maxFires === null ? "" : `, ${maxFires} fires at most`,
    job.startAt ? `, from ${job.startAt}` : "",
    job.endAt ? `, until ${job.endAt}` : "",
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
    ["next fire", job.nextFireAt ?? "none"],
  ]);
}

/** A schedule in words. */
export function describeSchedule({ at, everyMs, cron, timeZone }: Job["schedule"]): string {
  if (at !== undefined) return `once at ${at}`;
  if (everyMs !== undefined) return `every ${formatDuration(everyMs)}`;
  return `cron ${cron} (${timeZone})`;
}
