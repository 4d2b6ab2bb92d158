import { Command } from "commander";
import type { Caller } from "../client/index.ts";
import type { JobStatus } from "../scheduler/index.ts";
import { type AuditedOptions, audited } from "./audited.ts";
import { given, parseNumber } from "./command-options.ts";
import { jobAddCommand } from "./job-add.ts";
import { describeSchedule, type Job, jobShowCommand } from "./job-show.ts";
import { withCaller } from "./open.ts";
import { alignColumns, type GlobalOptions, printResult } from "./output.ts";

/** `tallyman job`: what fires when. */
export function jobCommand(): Command {
  return new Command("job")
    .description("add, look at and change jobs: commands and batches that are sent by a schedule")
    .addCommand(audited(jobAddCommand()))
    .addCommand(listCommand())
    .addCommand(jobShowCommand())
    .addCommand(
      actionCommand("pause", "keep a job from firing until it is resumed", async (caller, key) => {
        await caller.call("POST /api/jobs/:key/pause", { params: { key } });
        return { key, text: `Paused ${key}.` };
      }),
    )
    .addCommand(
      actionCommand(
        "resume",
        "let a paused or parked job fire again; its misfire policy says what it catches up",
        async (caller, key) => {
          await caller.call("POST /api/jobs/:key/resume", { params: { key } });
          return { key, text: `Resumed ${key}.` };
        },
      ),
    )
    .addCommand(
      actionCommand("run", "run a job now, beside its schedule", async (caller, key) => {
        const run = await caller.call("POST /api/jobs/:key/run", { params: { key } });
        return { key, ...run, text: `Running ${key} now as ${run.runId}.` };
      }),
    )
    .addCommand(
      actionCommand("remove", "remove a job and its history; what it sent stays", async (caller, key) => {
        await caller.call("DELETE /api/jobs/:key", { params: { key } });
        return { key, text: `Removed ${key}.` };
      }),
    );
}

interface ListOptions extends GlobalOptions {
  readonly status?: string;
  readonly limit: string;
  readonly cursor?: string;
}

function listCommand(): Command {
  return new Command("list")
    .description("list the jobs in the order of their keys")
    .option("--status <status>", "SCHEDULED, PAUSED, DISABLED, PARKED or FINISHED")
    .option("--limit <n>", "jobs at most, up to 1000", "20")
    .option("--cursor <key>", "go on after this job")
    .addHelpText(
      "after",
      "\nExamples:\n  $ tallyman job list\n  $ tallyman job list --status PARKED --json | jq -r '.[].errorMessage'",
    )
    .action(async (_options: ListOptions, command: Command) => {
      const options = command.optsWithGlobals<ListOptions>();
      const { cursor } = options;
      const status = options.status?.toUpperCase() as JobStatus | undefined;
      const query = { ...given({ status, cursor }), limit: parseNumber("--limit", options.limit) };
      const { items: jobs } = await withCaller(options, (caller) => caller.call("GET /api/jobs", { query }));
      printResult(options, jobs, jobs.length === 0 ? "There are no such jobs." : table(jobs));
    });
}

function table(jobs: readonly Job[]): string {
  const rows = jobs.map(({ key, status, schedule, nextFireAt, fireCount, domain, target }) => [
    key,
    status,
    describeSchedule(schedule),
    nextFireAt ?? "none",
    `${fireCount}`,
    `${target === "BATCH" ? "batch" : "command"} in ${domain}`,
  ]);
  return alignColumns([["JOB", "STATUS", "SCHEDULE", "NEXT FIRE", "FIRES", "SENDS"], ...rows]);
}

type Act = (caller: Caller, key: string) => Promise<{ readonly key: string; readonly text: string }>;

function actionCommand(name: string, description: string, act: Act): Command {
  return audited(new Command(name))
    .description(description)
    .argument("<key>", "the job")
    .addHelpText("after", `\nExample:\n  $ tallyman job ${name} nightly`)
    .action(async (key: string, _options: AuditedOptions, command: Command) => {
      const options = command.optsWithGlobals<AuditedOptions>();
      const { text, ...data } = await withCaller(options, (caller) => act(caller, key));
      printResult(options, data, text);
    });
}
