import { readFile } from "node:fs/promises";
import { create } from "@bufbuild/protobuf";
import { SimulationMetadataSchema } from "../../src/contracts/index.ts";
import { MetadataWriter } from "../../src/coordination/index.ts";
import { type Database, ensureRunSchema, type RunDatabase } from "../../src/database/index.ts";
import { environmentData } from "../../src/pipeline/indexers/sql/environment-data.ts";
import { filesIn, writeFiles } from "../environment/files.ts";
import { runIndexers } from "../environment/indexers.ts";
import type { Contender, Scenario } from "../harness/scenario.ts";

interface Size {
  readonly ticks: number;
}

const processes = 2;

async function prepareRun(database: Database, runId: string): Promise<RunDatabase> {
  const schema = await ensureRunSchema(database, runId);
  const metadata = create(SimulationMetadataSchema, { simulationRunId: runId, samplingInterval: 1 });
  await new MetadataWriter(database).insertMetadata(runId, metadata);
  return database.forRun(schema);
}

async function rowsIn(folder: string): Promise<number> {
  return Number(await readFile(filesIn(folder).rowCount, "utf8"));
}

const ours: Contender<Size> = {
  name: "indexers",
  kind: "ours",
  settings: `${processes} processes that compete for files: open, verify, decode, encode, COPY with the key, a commit per thousand ticks`,
  async run({ database, url, folder, measure }) {
    const files = filesIn(folder);
    await prepareRun(database, files.runId);
    const expected = await rowsIn(folder);
    let peakMegabytes = 0;
    let writeNanosPerRow = 0;
    const sample = await measure(async () => {
      const report = await runIndexers({ url, processes, ...files });
      if (report.rows !== expected) throw new Error(`${report.rows} rows written, of ${expected}`);
      peakMegabytes = report.peakMegabytes;
      writeNanosPerRow = (report.writeSeconds * 1e9) / report.rows;
      return { items: report.rows, seconds: report.seconds };
    });
    return { ...sample, peakMegabytes, writeNanosPerRow };
  },
};

function serverCopies(name: string, pathsOf: (folder: string) => readonly string[]): Contender<Size> {
  return {
    name,
    kind: "limit",
    settings:
      "the server reads the same rows, in COPY's binary form, from a file of its machine; the same table and key",
    async run({ database, folder, measure }) {
      const run = await prepareRun(database, filesIn(folder).runId);
      const columns = environmentData.columns.join(", ");
      const copy = (path: string) =>
        run.query(`COPY sim.environment_data (${columns}) FROM '${path}' (FORMAT binary)`);
      const rows = await rowsIn(folder);
      return measure(async () => {
        await Promise.all(pathsOf(folder).map(copy));
        return rows;
      });
    },
  };
}

export const indexing: Scenario<Size> = {
  name: "indexing",
  what: "Cells of a simulated world, 300 to 500 per tick, from batch files into a table with its key.",
  sizes: { quick: { ticks: 4_000 }, full: { ticks: 12_000 } },
  figures: { perSecond: "rows/s" },
  goals: [{ against: "one COPY", ratio: 0.6 }],
  prepare: (folder, { ticks }) => writeFiles(folder, ticks),
  contenders: [
    ours,
    serverCopies("one COPY", (folder) => [filesIn(folder).whole]),
    serverCopies("two COPYs at once", (folder) => filesIn(folder).halves),
  ],
};
