/**
 * Figures behind docs/decisions/012-indexed-tables.md, beyond the scenario `indexing` of `npm run bench`:
 *
 *   node --import tsx bench/environment.ts [--ticks 6000] [--small] [--rounds 5] [--grow 20] [--decoders] [--layouts] [--merges]
 *
 * - --decoders: MB/s of decoding, beside protobuf-es.
 * - --layouts: bytes and time of a row in other layouts of the table, of --ticks ticks; --small: of a world with
 *   some 20 cells per tick instead of 300 to 500.
 * - --merges: rows/s of ways to add only what is missing.
 * - --grow N: cost of a row from the first to the Nth million of rows, beside the cost of a row in an empty
 *   table at the same time.
 */
import { parseArgs } from "node:util";
import { ensureRunSchema, type RunDatabase } from "../src/database/index.ts";
import { copyEnvironmentData } from "../src/pipeline/indexers/sql/environment-data.ts";
import { packTick } from "../src/pipeline/ticks/packed-tick.ts";
import { compareDecoders } from "./environment/decoding.ts";
import { growth } from "./environment/growth.ts";
import { compareLayouts } from "./environment/layouts.ts";
import { compareMerges } from "./environment/merges.ts";
import { startBenchServer } from "./harness/server.ts";
import { type WorldSize, worldRunId, worldTicks } from "./storage/world.ts";

const { values: flags } = parseArgs({
  options: {
    ticks: { type: "string", default: "6000" },
    small: { type: "boolean", default: false },
    rounds: { type: "string", default: "5" },
    grow: { type: "string", default: "0" },
    decoders: { type: "boolean", default: false },
    layouts: { type: "boolean", default: false },
    merges: { type: "boolean", default: false },
  },
});
const rounds = Number(flags.rounds);
const smallWorld: WorldSize = { walls: 4, foodAtStart: 8, foodMax: 10, organisms: 6 };
const ticksPerFlush = 1_000;

/** The rows that the layouts are filled with. */
async function fillTable(run: RunDatabase): Promise<void> {
  const ticks = [...worldTicks(Number(flags.ticks), 1, flags.small ? smallWorld : undefined)].map(packTick);
  await run.query("TRUNCATE sim.environment_data");
  for (let at = 0; at < ticks.length; at += ticksPerFlush)
    await run.transaction((tx) => copyEnvironmentData(tx, ticks.slice(at, at + ticksPerFlush)));
}

await using server = await startBenchServer();
const run = server.database.forRun(await ensureRunSchema(server.database, worldRunId));
if (flags.decoders) console.table(compareDecoders(rounds));
if (flags.layouts) {
  await fillTable(run);
  console.table(await compareLayouts(run, rounds));
}
if (flags.merges) console.table(await compareMerges(run, rounds));
if (Number(flags.grow) > 0) console.table(await growth(run, Number(flags.grow)));
