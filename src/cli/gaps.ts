import { Command } from "commander";
import type { SimulationMetadata } from "../contracts/index.ts";
import {
  accountForTicks,
  createBatchCoordinator,
  type GapInfo,
  listIndexerClasses,
  MetadataReader,
  type TickAccount,
} from "../coordination/index.ts";
import { type Database, hasRunSchema, runSchemaName } from "../database/index.ts";
import { isTallymanError, TallymanError } from "../errors/index.ts";
import { withTallyman } from "./open.ts";
import { alignColumns, type GlobalOptions, printResult } from "./output.ts";
import { stripLegend, tickStrip } from "./tick-strip.ts";

interface Options extends GlobalOptions {
  readonly run: string;
  readonly indexerClass?: string;
}

interface Report {
  readonly indexerClass: string;
  readonly expected: number;
  readonly counts: TickAccount["counts"];
  readonly unaccounted: number;
  readonly endDeclared: boolean;
  readonly gaps: readonly GapInfo[];
  readonly strip: string;
}

const stripWidthMax = 100;

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
  const classes = await knownClasses(database, run);
  const wanted = classes.filter((name) => indexerClass === undefined || name === indexerClass);
  if (wanted.length === 0) {
    const what =
      indexerClass === undefined ? "no indexer has worked on it yet" : `no indexer class ${indexerClass}`;
    throw new TallymanError(
      "RUN_NOT_FOUND",
      `Run ${run}: ${what}. 'tallyman run list' shows the known runs.`,
    );
  }
  return Promise.all(wanted.map((name) => report(database, run, name)));
}

async function knownClasses(database: Database, runId: string): Promise<string[]> {
  return (await hasRunSchema(database, runId))
    ? listIndexerClasses(database.forRun(runSchemaName(runId)))
    : [];
}

/** The run's metadata; undefined while it is not indexed. A database error is not the same thing. */
async function metadataOf(database: Database, runId: string): Promise<SimulationMetadata | undefined> {
  return new MetadataReader(database).getMetadata(runId).catch((error: unknown) => {
    if (isTallymanError(error, "METADATA_NOT_FOUND")) return undefined;
    throw error;
  });
}

async function report(database: Database, runId: string, indexerClass: string): Promise<Report> {
  const metadata = await metadataOf(database, runId);
  const declaredEnd = metadata?.declaredEndTick === undefined ? undefined : Number(metadata.declaredEndTick);
  const expected = { samplingInterval: metadata?.samplingInterval ?? 1, declaredEnd };
  const account = await accountForTicks(database, runId, indexerClass, expected);
  const coordinator = createBatchCoordinator(database);
  coordinator.setSimulationRun(runId);
  const gaps = await coordinator.setIndexerClass(indexerClass).listGaps();
  const width = Math.min(process.stdout.columns ?? stripWidthMax, stripWidthMax);
  const { ranges, ...totals } = account;
  return {
    indexerClass,
    ...totals,
    endDeclared: declaredEnd !== undefined,
    gaps,
    strip: tickStrip(ranges, width),
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
