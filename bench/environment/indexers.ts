import { FileSystemStorage } from "../../src/storage/index.ts";
import { startChild } from "../../src/testing/index.ts";
import type { WriterReport } from "./writer.child.ts";

/** What the indexers read, and where they write. */
export interface IndexerRun {
  readonly url: string;
  readonly storageFolder: string;
  readonly runId: string;
  readonly processes: number;
}

/** What the processes did together. */
export interface IndexerReport {
  readonly rows: number;
  /** From the start of the first indexer to the end of the last, without the processes' own start. */
  readonly seconds: number;
  /** Encoding, sending and waiting for the rows, of all processes. */
  readonly writeSeconds: number;
  readonly peakMegabytes: number;
}

/** Indexes all files of a run with several processes. */
export async function runIndexers({
  url,
  storageFolder,
  runId,
  processes,
}: IndexerRun): Promise<IndexerReport> {
  const fileCount = await filesIn(storageFolder, runId);
  const children = Array.from({ length: processes }, () =>
    startChild(new URL("./writer.child.ts", import.meta.url), {
      args: [url, storageFolder, runId, String(fileCount)],
    }),
  );
  await Promise.all(children.map((child) => child.exit));
  const reports = children.map(({ lines, errorOutput }) => {
    const line = lines.find((text) => text.startsWith("done "));
    if (!line) throw new Error(`An indexer ended without a word: ${errorOutput}`);
    return JSON.parse(line.slice("done ".length)) as WriterReport;
  });
  return together(reports);
}

function together(reports: readonly WriterReport[]): IndexerReport {
  const sum = (pick: (report: WriterReport) => number) =>
    reports.reduce((total, report) => total + pick(report), 0);
  const began = Math.min(...reports.map((report) => report.beganAtMs));
  const ended = Math.max(...reports.map((report) => report.endedAtMs));
  return {
    rows: sum((report) => report.rows),
    seconds: (ended - began) / 1_000,
    writeSeconds: sum((report) => report.writeMs) / 1_000,
    peakMegabytes: Math.max(...reports.map((report) => report.peakMemoryMb)),
  };
}

async function filesIn(rootDirectory: string, runId: string): Promise<number> {
  const { files } = await new FileSystemStorage({ rootDirectory }).listBatchFiles(runId, undefined, 10_000);
  return files.length;
}
