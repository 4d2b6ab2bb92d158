import { dirname } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import { type Config, findConfigFile, openConfiguredStorage, type Tallyman } from "../app/index.ts";
import { type ClaimCount, countClaims } from "../coordination/index.ts";
import { type RegisteredRun, registeredRuns, validateRunId } from "../database/index.ts";
import { TallymanError } from "../errors/index.ts";
import {
  type BatchFile,
  type BatchStorage,
  inspectRun,
  type RunContents,
  type TickRange,
} from "../storage/index.ts";
import { audited } from "./audited.ts";
import { withTallyman } from "./open.ts";
import { alignColumns, type GlobalOptions, printResult } from "./output.ts";
import { reindexCommand, retryCommand } from "./run-again.ts";

interface ListOptions extends GlobalOptions {
  readonly storage?: string;
}

interface InspectOptions extends ListOptions {
  readonly files?: boolean;
  readonly verify?: boolean;
  readonly samplingInterval?: number;
}

/** A run as `run list` shows it. */
interface ListedRun {
  readonly runId: string;
  /** Its schema in the database; null when only the storage knows the run. */
  readonly schema: string | null;
  readonly registeredAt: string | null;
  readonly inStorage: boolean;
  /** Last tick of its files; null when it has none. */
  readonly lastTick: number | null;
}

/** How many holes and damaged files people are shown; --json has more. */
const shownMax = 10;

/** `tallyman run`: simulation runs, as storage and database know them. */
export function runCommand(): Command {
  return new Command("run")
    .description("simulation runs: their batch files, tick ranges and holes; index them again")
    .addCommand(listCommand())
    .addCommand(inspectCommand())
    .addCommand(audited(reindexCommand()))
    .addCommand(audited(retryCommand()));
}

function listCommand(): Command {
  return new Command("list")
    .description("list the runs of the storage and of the database")
    .option("--storage <name>", "storage resource, when the configuration has several")
    .addHelpText("after", "\nExample:\n  $ tallyman run list --json | jq '.runs[].runId'")
    .action(async (_options: ListOptions, command: Command) => {
      const options = command.optsWithGlobals<ListOptions>();
      const { place, runs } = await withStorage(options, listRuns);
      printResult(options, { storage: place, runs }, describeRuns(place, runs));
    });
}

function inspectCommand(): Command {
  return new Command("inspect")
    .description("show a run's files: number, bytes, tick range, holes, damage")
    .argument("<runId>", "the run")
    .option("--storage <name>", "storage resource, when the configuration has several")
    .option("--files", "name every file, up to a thousand (--json always does)")
    .option("--verify", "read every byte of every file and check it")
    .option(
      "--sampling-interval <ticks>",
      "ticks between two samples (default: what the run's metadata in storage says, or 1)",
      wholeTicks,
    )
    .addHelpText(
      "after",
      "\nExamples:\n  $ tallyman run inspect run-1\n  $ tallyman run inspect run-1 --verify --json | jq '.holes'",
    )
    .action(async (runId: string, _options: InspectOptions, command: Command) => {
      const options = command.optsWithGlobals<InspectOptions>();
      const run = await withStorage(options, (storage, tallyman) =>
        inspect(runId, storage, tallyman, options),
      );
      printResult(options, run, describeRun(run, options.files ?? false));
    });
}

/** Opens database and storage as configured, and closes both. */
function withStorage<T>(
  options: ListOptions,
  work: (storage: BatchStorage, tallyman: Tallyman) => Promise<T>,
): Promise<T> {
  return withTallyman(options, async (tallyman: Tallyman, config: Config) => {
    const file = await findConfigFile({ flags: { config: options.config } });
    const folder = file === undefined ? undefined : dirname(file);
    await using storage = openConfiguredStorage(config, { name: options.storage, folder });
    return work(storage, tallyman);
  });
}

async function listRuns(
  storage: BatchStorage,
  { database }: Tallyman,
): Promise<{ place: string; runs: ListedRun[] }> {
  const registered = new Map((await registeredRuns(database)).map((run) => [run.runId, run]));
  const stored = new Set(await storage.listRunIds());
  const runs: ListedRun[] = [];
  for (const runId of new Set([...stored, ...registered.keys()])) {
    const last = stored.has(runId) ? await storage.findLastBatchFile(runId) : undefined;
    runs.push(listedRun(runId, registered.get(runId), stored.has(runId), last));
  }
  return { place: storage.place, runs };
}

function listedRun(
  runId: string,
  registered: RegisteredRun | undefined,
  inStorage: boolean,
  last: TickRange | undefined,
): ListedRun {
  const schema = registered?.schemaName ?? null;
  const registeredAt = registered?.createdAt.toISOString() ?? null;
  return { runId, schema, registeredAt, inStorage, lastTick: last?.tickEnd ?? null };
}

type InspectedRun = RunContents & {
  readonly storage: string;
  readonly schema: string | null;
  /** What the indexers did with the files, by class, status and instance. */
  readonly claims: readonly ClaimCount[];
};

async function inspect(
  runId: string,
  storage: BatchStorage,
  { database }: Tallyman,
  { verify, samplingInterval }: InspectOptions,
): Promise<InspectedRun> {
  validateRunId(runId);
  const registered = (await registeredRuns(database)).find((run) => run.runId === runId);
  const stored = await storage.listRunIds();
  if (!registered && !stored.includes(runId)) throw runNotFound(runId, storage);
  const given = {
    ...(verify !== undefined && { verify }),
    ...(samplingInterval !== undefined && { samplingInterval }),
  };
  const contents = await inspectRun(storage, runId, given);
  const claims = registered ? await countClaims(database.forRun(registered.schemaName)) : [];
  return { storage: storage.place, schema: registered?.schemaName ?? null, ...contents, claims };
}

function describeRuns(place: string, runs: readonly ListedRun[]): string {
  if (runs.length === 0) return `No runs, neither in ${place} nor in the database.`;
  const rows = runs.map(({ runId, schema, inStorage, lastTick }) => [
    runId,
    inStorage ? (lastTick === null ? "no batch files" : `to tick ${lastTick}`) : "not in storage",
    schema ?? "not registered",
  ]);
  return [`Storage ${place}`, alignColumns([["RUN", "FILES", "SCHEMA"], ...rows])].join("\n");
}

function describeRun(run: InspectedRun, withFiles: boolean): string {
  const ticks = run.ticks ? `${rangeText(run.ticks)}, every ${run.samplingInterval}` : "none";
  const rows = [
    ["run", run.runId],
    ["storage", run.storage],
    ["schema", run.schema ?? "not registered"],
    ["files", `${run.files} (${run.bytes} bytes, ${run.records} records)`],
    ["ticks", ticks],
    ["holes", String(run.holesTotal)],
    ["damaged", String(run.unreadableTotal)],
  ];
  const details = [
    ...shown("Missing ticks", run.holes.map(rangeText), run.holesTotal),
    ...shown(
      "Damaged files",
      run.unreadable.map(({ reason }) => reason),
      run.unreadableTotal,
    ),
  ];
  if (run.claims.length > 0)
    details.push("", alignColumns([["INDEXER", "STATUS", "INSTANCE", "FILES"], ...run.claims.map(claimRow)]));
  const files = withFiles ? ["", fileTable(run.fileList)] : [];
  return [alignColumns(rows), ...details, ...files].join("\n");
}

function claimRow({ indexerClass, status, instanceId, files }: ClaimCount): string[] {
  return [indexerClass, status, instanceId ?? "-", String(files)];
}

function fileTable(files: readonly BatchFile[]): string {
  const rows = files.map(({ key, tickStart, tickEnd, records, bytes }) =>
    [tickStart, tickEnd, records, bytes, key].map(String),
  );
  return alignColumns([["FIRST", "LAST", "RECORDS", "BYTES", "KEY"], ...rows]);
}

function shown(title: string, lines: readonly string[], total: number): string[] {
  if (total === 0) return [];
  const rest = total > shownMax ? [`  … and ${total - shownMax} more`] : [];
  return ["", `${title}:`, ...lines.slice(0, shownMax).map((line) => `  ${line}`), ...rest];
}

function rangeText({ tickStart, tickEnd }: TickRange): string {
  return `${tickStart} to ${tickEnd}`;
}

function wholeTicks(text: string): number {
  const ticks = Number(text);
  if (Number.isSafeInteger(ticks) && ticks >= 1) return ticks;
  throw new InvalidArgumentError("Give a whole number of at least 1.");
}

function runNotFound(runId: string, storage: BatchStorage): TallymanError {
  return new TallymanError(
    "RUN_NOT_FOUND",
    `Run '${runId}' is neither in ${storage.place} nor in the database. List the known ones with 'tallyman run list'.`,
    { details: { runId, storage: storage.place } },
  );
}
