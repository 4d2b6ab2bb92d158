import { Command } from "commander";
import type { Api, Caller } from "../client/index.ts";
import { TallymanError } from "../errors/index.ts";
import { given } from "./command-options.ts";
import { withCaller } from "./open.ts";
import { alignColumns, type GlobalOptions, printResult } from "./output.ts";
import { stripLegend, tickStrip } from "./tick-strip.ts";

interface Options extends GlobalOptions {
  readonly run: string;
  readonly indexerClass?: string;
}

const stripWidthMax = 100;
const gapsMax = 1_000;

/** `tallyman gaps`: which expected ticks are where, for each indexer class. */
export function gapsCommand(): Command {
  return new Command("gaps")
    .description("account for every expected tick of a run: indexed, in flight, failed or missing")
    .requiredOption("--run <id>", "simulation run")
    .option("--indexer-class <name>", "only this indexer class")
    .addHelpText("after", "\nExample:\n  $ tallyman gaps --run 20251006-run --json")
    .action(async (_options: Options, command: Command) => {
      const options = command.optsWithGlobals<Options>();
      const reports = await withCaller(options, (caller) => reportRun(caller, options));
      printResult(options, { runId: options.run, indexers: reports }, reports.map(describe).join("\n\n"));
    });
}

async function reportRun(caller: Caller, { run: runId, indexerClass }: Options): Promise<Report[]> {
  const buckets = Math.min(process.stdout.columns ?? stripWidthMax, stripWidthMax);
  const query = { buckets, ...given({ indexerClass }) };
  const accounts = await caller.call("GET /api/runs/:runId/ticks", { params: { runId }, query });
  if (accounts.length === 0)
    throw new TallymanError("RUN_NOT_FOUND", `Run ${runId}: no indexer has worked on it yet.`);
  return Promise.all(accounts.map((account) => report(caller, runId, account)));
}

type Account = Api["GET /api/runs/:runId/ticks"]["data"][number];
type Report = Awaited<ReturnType<typeof report>>;

async function report(caller: Caller, runId: string, { buckets, ...account }: Account) {
  const { items: gaps } = await caller.call("GET /api/runs/:runId/gaps", {
    params: { runId },
    query: { indexerClass: account.indexerClass, limit: gapsMax },
  });
  return { ...account, gaps, strip: tickStrip(buckets) };
}

function describe({ indexerClass, expected, counts, unaccounted, endDeclared, gaps, strip }: Report): string {
  const totals = [
    [`${counts.indexed} indexed`, `${counts.in_flight} in flight`, `${counts.failed} failed`],
    [`${counts.pending} in pending gaps`, `${counts.permanent} in permanent gaps`],
  ].flat();
  const rows = gaps.map((gap) => [
    `${gap.gapStartTick}–${gap.gapEndTick}`,
    gap.status,
    `since ${gap.firstDetected}`,
  ]);
  return [
    `${indexerClass}: ${expected} ticks expected: ${totals.join(", ")}${unaccounted > 0 ? `, ${unaccounted} not yet accounted for` : ""}`,
    ...(endDeclared ? [] : ["The producer has not declared its end, so a missing tail can't be seen."]),
    strip,
    stripLegend,
    ...(rows.length > 0 ? [alignColumns(rows)] : ["No gaps."]),
  ].join("\n");
}
