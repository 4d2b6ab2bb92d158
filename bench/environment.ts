/**
 * Indexing of cells: `node --import tsx bench/environment.ts [--ticks 6000] [--small] [--rounds 5] [--grow 20] [--decoders]
 * [--layouts] [--merges] [--json]`.
 *
 * - ratio: rows/s of two processes that index batch files (open, verify, decode, encode, COPY, a commit per
 *   thousand ticks), beside the server's own COPY of the same rows from a file in the same binary form, into
 *   the same table with its key: as one COPY, and as two at once. Each round measures all three; the medians
 *   are of the rounds' ratios, since the machine may be shared.
 * - profile: where the two processes spend their time.
 * - --grow N: cost of a row from the first to the Nth million of rows, beside the cost of a row in an empty
 *   table at the same time.
 * - --decoders: MB/s of decoding, beside protobuf-es.
 * - --layouts: bytes and time of a row in other layouts of the table.
 * - --merges: rows/s of ways to add only what is missing.
 * - --small: a world of some 20 cells per tick instead of 300 to 500.
 */
import { rm } from "node:fs/promises";
import { parseArgs } from "node:util";
import { create } from "@bufbuild/protobuf";
import { SimulationMetadataSchema } from "../src/contracts/index.ts";
import { MetadataWriter } from "../src/coordination/index.ts";
import { ensureRunSchema } from "../src/database/index.ts";
import { compareDecoders } from "./environment/decoding.ts";
import { writeFiles } from "./environment/files.ts";
import { growth } from "./environment/growth.ts";
import { compareLayouts } from "./environment/layouts.ts";
import { compareMerges } from "./environment/merges.ts";
import { compare, type Round } from "./environment/ratio.ts";
import { startBenchServer } from "./harness/server.ts";

const { values: flags } = parseArgs({
  options: {
    ticks: { type: "string", default: "6000" },
    rounds: { type: "string", default: "5" },
    grow: { type: "string", default: "0" },
    decoders: { type: "boolean", default: false },
    layouts: { type: "boolean", default: false },
    merges: { type: "boolean", default: false },
    small: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

function summary(rounds: readonly Round[]) {
  const of = (pick: (round: Round) => number) => median(rounds.map(pick));
  return {
    rowsPerSecond: {
      indexers: Math.round(of((round) => round.indexers)),
      oneCopy: Math.round(of((round) => round.oneCopy)),
      twoCopies: Math.round(of((round) => round.twoCopies)),
    },
    toOneCopy: of((round) => round.indexers / round.oneCopy),
    toTwoCopies: of((round) => round.indexers / round.twoCopies),
    nanosecondsPerRow: {
      write: Math.round(of((round) => round.profile.writeMs) * 1e6),
      processor: Math.round(of((round) => round.profile.processorMs) * 1e6),
    },
    peakMemoryMb: Math.round(of((round) => round.profile.peakMemoryMb)),
  };
}

await using server = await startBenchServer();
const roundsMax = Number(flags.rounds);
const files = await writeFiles({ ticks: Number(flags.ticks), small: flags.small });
const schema = await ensureRunSchema(server.database, files.runId);
const run = server.database.forRun(schema);
await new MetadataWriter(server.database).insertMetadata(
  files.runId,
  create(SimulationMetadataSchema, { simulationRunId: files.runId, samplingInterval: 1 }),
);
try {
  const rounds: Round[] = [];
  for (let round = 0; round < roundsMax; round++)
    rounds.push(await compare({ url: server.url, database: server.database, schema, files }));
  const decoders = flags.decoders ? compareDecoders(roundsMax) : [];
  const layouts = flags.layouts ? await compareLayouts(run, roundsMax) : [];
  const merges = flags.merges ? await compareMerges(run, roundsMax) : [];
  const steps = await growth(run, Number(flags.grow));
  const result = { rows: files.rows, ...summary(rounds), rounds, decoders, layouts, merges, growth: steps };
  if (flags.json) console.log(JSON.stringify(result, undefined, 2));
  else {
    console.log(`${files.rows.toLocaleString("en-US")} rows, ${rounds.length} rounds`);
    for (const round of rounds)
      console.log(
        `indexers ${Math.round(round.indexers / 1000)}k rows/s, one COPY ${Math.round(round.oneCopy / 1000)}k, two ${Math.round(round.twoCopies / 1000)}k: ${(round.indexers / round.oneCopy).toFixed(2)} and ${(round.indexers / round.twoCopies).toFixed(2)}`,
      );
    console.log(summary(rounds));
    for (const table of [decoders, layouts, merges, steps]) if (table.length > 0) console.table(table);
  }
} finally {
  await rm(files.folder, { recursive: true });
}
