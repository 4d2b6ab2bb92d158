import { Command } from "commander";
import { accountForRun, type GapInfo, listGaps, type RunAccount } from "../coordination/index.ts";
import { type Database, openRun } from "../database/index.ts";
import { TallymanError } from "../errors/index.ts";
import { withTallyman } from "./open.ts";
import { alignColumns, type GlobalOptions, printResult } from "./output.ts";
import { stripLegend, tickStrip } from "./tick-strip.ts";

interface Options extends GlobalOptions {
  readonly run: string;
  readonly indexerClass?: string;
}

interface Report extends Omit<RunAccount, "ranges"> {
  readonly gaps: readonly GapInfo[];
  readonly strip: string;
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
      const reports = await withTallyman(options, ({ database }) => reportRun(database, options));
      printResult(options, { runId: options.run, indexers: reports }, reports.map(describe).join("\n\n"));
    });
}

async function reportRun(database: Database, { run, indexerClass }: Options): Promise<Report[]> {
  const accounts = await accountForRun(database, run, indexerClass);
  if (accounts.length === 0)
    throw new TallymanError("RUN_NOT_FOUND", `Run ${run}: no indexer has worked on it yet.`);
  return Promise.all(accounts.map((account) => report(database, run, account)));
}

async function report(
  database: Database,
  runId: string,
  { ranges, ...account }: RunAccount,
): Promise<Report> {
  const gaps = await listGaps(await openRun(database, runId), account.indexerClass, { limit: gapsMax });
  const width = Math.min(process.stdout.columns ?? stripWidthMax, stripWidthMax);
  return {
    ...account,
    gaps,
    strip: tickStrip(ranges, { width, samplingInterval: account.samplingInterval }),
  };
}

function describe({ indexerClass, expected, counts, unaccounted, endDeclared, gaps, strip }: Report): string {
  const totals = [
    [`${counts.indexed} indexed`, `${counts.in_flight} in flight`, `${counts.failed} failed`],
    [`${counts.pending} in pending gaps`, `${counts.permanent} in permanent gaps`],
  ].flat();
  const rows = gaps.map((gap) => [
    `${gap.gapStartTick}–${gap.gapEndTick}`,
    gap.status,
    `since ${gap.firstDetected.toISOString()}`,
  ]);
  return [
    `${indexerClass}: ${expected} ticks expected: ${totals.join(", ")}${unaccounted > 0 ? `, ${unaccounted} not yet accounted for` : ""}`,
    ...(endDeclared ? [] : ["The producer has not declared its end, so a missing tail can't be seen."]),
    strip,
    stripLegend,
    ...(rows.length > 0 ? [alignColumns(rows)] : ["No gaps."]),
  ].join("\n");
}
