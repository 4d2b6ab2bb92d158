import { type Database, quoteIdentifier } from "../../src/database/index.ts";
import { environmentData } from "../../src/pipeline/indexers/sql/environment-data.ts";
import { FileSystemStorage } from "../../src/storage/index.ts";
import { startChild } from "../../src/testing/index.ts";
import type { BenchFiles } from "./files.ts";
import type { WriterReport } from "./writer.child.ts";

const writers = 2;

/** Where the two processes spent their time: per row and process, but for the memory. */
export interface Profile {
  /** Encoding, sending and waiting for the rows. */
  readonly writeMs: number;
  /** Of the processes themselves, with their start. */
  readonly processorMs: number;
  readonly peakMemoryMb: number;
}

/** Rows per second of the three ways. */
export interface Round {
  readonly indexers: number;
  readonly oneCopy: number;
  readonly twoCopies: number;
  readonly profile: Profile;
}

/** What is measured on. */
export interface Setting {
  readonly url: string;
  readonly database: Database;
  readonly schema: string;
  readonly files: BenchFiles;
}

/** Measures the three ways once, each into an empty table. */
export async function compare(setting: Setting): Promise<Round> {
  const { whole, halves } = setting.files;
  const oneCopy = await serverCopies(setting, [whole]);
  const twoCopies = await serverCopies(setting, halves);
  const { rate, profile } = await indexers(setting);
  return { indexers: rate, oneCopy, twoCopies, profile };
}

async function serverCopies(setting: Setting, paths: readonly string[]): Promise<number> {
  const run = setting.database.forRun(setting.schema);
  await empty(setting);
  const start = performance.now();
  const columns = environmentData.columns.join(", ");
  await Promise.all(
    paths.map((path) => run.query(`COPY sim.environment_data (${columns}) FROM '${path}' (FORMAT binary)`)),
  );
  return setting.files.rows / ((performance.now() - start) / 1000);
}

async function indexers(setting: Setting): Promise<{ rate: number; profile: Profile }> {
  await empty(setting);
  const { storageFolder, runId, rows } = setting.files;
  const fileCount = await filesIn(storageFolder, runId);
  const children = Array.from({ length: writers }, () =>
    startChild(new URL("./writer.child.ts", import.meta.url), {
      args: [setting.url, storageFolder, runId, String(fileCount)],
    }),
  );
  await Promise.all(children.map((child) => child.exit));
  const reports = children.map(({ lines, errorOutput }) => {
    const line = lines.find((text) => text.startsWith("done "));
    if (!line) throw new Error(`An indexer ended without a word: ${errorOutput}`);
    return JSON.parse(line.slice("done ".length)) as WriterReport;
  });
  const written = reports.reduce((sum, report) => sum + report.rows, 0);
  if (written !== rows) throw new Error(`${written} rows written, of ${rows}`);
  const began = Math.min(...reports.map((report) => report.beganAtMs));
  const ended = Math.max(...reports.map((report) => report.endedAtMs));
  return { rate: rows / ((ended - began) / 1000), profile: profileOf(reports, rows) };
}

function profileOf(reports: readonly WriterReport[], rows: number): Profile {
  const perRow = (pick: (report: WriterReport) => number) =>
    reports.reduce((sum, report) => sum + pick(report), 0) / rows;
  return {
    writeMs: perRow((report) => report.writeMs),
    processorMs: perRow((report) => report.processorMs),
    peakMemoryMb: Math.max(...reports.map((report) => report.peakMemoryMb)),
  };
}

async function filesIn(rootDirectory: string, runId: string): Promise<number> {
  const { files } = await new FileSystemStorage({ rootDirectory }).listBatchFiles(runId, undefined, 10_000);
  return files.length;
}

async function empty({ database, schema }: Setting): Promise<void> {
  for (const table of [
    "environment_data",
    "coordinator_batches",
    "coordinator_gaps",
    "batch_files",
    "known_ranges",
  ])
    await database.query(`TRUNCATE ${quoteIdentifier(schema)}.${table}`);
  await database.query("CHECKPOINT");
}
