import { type Database, quoteIdentifier } from "../../src/database/index.ts";
import { environmentData } from "../../src/pipeline/indexers/sql/environment-data.ts";
import { startChild } from "../../src/testing/index.ts";
import type { BenchFiles } from "./files.ts";
import type { WriterReport } from "./writer.child.ts";

const writers = 2;

/** Where the two processes spent their time: per row and process, but for the memory. */
export interface Profile {
  readonly readMs: number;
  readonly encodeMs: number;
  /** In a transaction, encoding left out: sending and waiting. */
  readonly databaseMs: number;
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
  const children = Array.from({ length: writers }, (_, share) =>
    startChild(new URL("./writer.child.ts", import.meta.url), {
      args: [setting.url, setting.schema, storageFolder, runId, String(share), String(writers)],
    }),
  );
  const lines = await Promise.all(children.map((child) => child.line("done ")));
  await Promise.all(children.map((child) => child.exit));
  const reports = lines.map((line) => JSON.parse(line.slice("done ".length)) as WriterReport);
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
    readMs: perRow((report) => report.readMs),
    encodeMs: perRow((report) => report.encodeMs),
    databaseMs: perRow((report) => report.flushMs - report.encodeMs),
    processorMs: perRow((report) => report.processorMs),
    peakMemoryMb: Math.max(...reports.map((report) => report.peakMemoryMb)),
  };
}

async function empty({ database, schema }: Setting): Promise<void> {
  await database.query(`TRUNCATE ${quoteIdentifier(schema)}.environment_data`);
  await database.query("CHECKPOINT");
}
