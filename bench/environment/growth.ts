import type { TickData } from "../../src/contracts/index.ts";
import type { RunDatabase } from "../../src/database/index.ts";
import { environmentData } from "../../src/pipeline/indexers/sql/environment-data.ts";
import { copyRows, type PerTickTable } from "../../src/pipeline/indexers/sql/per-tick-table.ts";
import { PackedTick, packTick } from "../../src/pipeline/ticks/packed-tick.ts";
import { worldTicks } from "../storage/world.ts";

const ticksPerFlush = 1000;
const ticksPerMillionRows = 2050;
const control: PerTickTable = { ...environmentData, name: "control" };

/** Cost of a row while the table grows. */
export interface GrowthStep {
  readonly millionsBefore: number;
  readonly microsecondsPerRow: number;
  /** The same rows, at the same time, into a table that is empty. */
  readonly emptyTable: number;
  readonly ratio: number;
}

/** Writes about a million rows at a time; the empty table, measured beside, cancels what else the machine does. */
export async function growth(run: RunDatabase, millions: number): Promise<GrowthStep[]> {
  const million = [...worldTicks(ticksPerMillionRows)].map(packTick);
  await run.query("TRUNCATE sim.environment_data");
  await run.query("CREATE TABLE sim.control (LIKE sim.environment_data INCLUDING ALL)");
  const steps: GrowthStep[] = [];
  for (let step = 0; step < millions; step++) {
    const ticks = million.map((tick, index) => renumbered(tick, step * ticksPerMillionRows + index));
    await run.query("TRUNCATE sim.control");
    const emptyTable = await costOf(run, control, ticks);
    const cost = await costOf(run, environmentData, ticks);
    steps.push({ millionsBefore: step, microsecondsPerRow: cost, emptyTable, ratio: cost / emptyTable });
  }
  return steps;
}

async function costOf(run: RunDatabase, table: PerTickTable, ticks: readonly TickData[]): Promise<number> {
  const start = performance.now();
  let rows = 0;
  for (let at = 0; at < ticks.length; at += ticksPerFlush)
    rows += await run.transaction((tx) => copyRows(tx, table, ticks.slice(at, at + ticksPerFlush)));
  return ((performance.now() - start) * 1000) / rows;
}

function renumbered(tick: PackedTick, tickNumber: number): PackedTick {
  const { simulationRunId, capturedAtMs, cellWords, organismWords } = tick;
  return new PackedTick({
    tickNumber: BigInt(tickNumber),
    simulationRunId,
    capturedAtMs,
    cellWords,
    organismWords,
  });
}
