import type { TickData } from "../../src/contracts/index.ts";
import type { RunDatabase, Transaction } from "../../src/database/index.ts";
import {
  copyEnvironmentData,
  mergeEnvironmentData,
} from "../../src/pipeline/indexers/sql/environment-data.ts";
import { packTick } from "../../src/pipeline/ticks/packed-tick.ts";
import { worldTicks } from "../storage/world.ts";

const ticksPerFlush = 1000;
const flushes = 2;

/** Rows per second of one way to merge. */
export interface MergeRate {
  readonly way: string;
  /** None of the rows was there. */
  readonly allMissing: number;
  /** All of them were. */
  readonly allPresent: number;
}

type Write = (tx: Transaction, ticks: readonly TickData[]) => Promise<unknown>;

/** Rows that are staged, rows in arrays, and a plain COPY beside them; the best of `rounds`. */
export async function compareMerges(run: RunDatabase, rounds: number): Promise<MergeRate[]> {
  const ticks = [...worldTicks(ticksPerFlush * flushes)].map(packTick);
  const ways: readonly [string, Write][] = [
    ["COPY alone", copyEnvironmentData],
    ["COPY into a temporary table, then DO NOTHING", mergeEnvironmentData],
    ["arrays through unnest, then DO NOTHING", mergeByArrays],
  ];
  const best = new Map(ways.map(([way]) => [way, { way, allMissing: 0, allPresent: 0 }]));
  for (let round = 0; round < rounds; round++) {
    for (const [way, write] of ways) {
      const known = best.get(way) as MergeRate;
      await run.query("TRUNCATE sim.environment_data");
      const allMissing = Math.max(known.allMissing, await rate(run, write, ticks));
      const allPresent =
        write === copyEnvironmentData ? 0 : Math.max(known.allPresent, await rate(run, write, ticks));
      best.set(way, { way, allMissing: Math.round(allMissing), allPresent: Math.round(allPresent) });
    }
  }
  return [...best.values()];
}

async function rate(run: RunDatabase, write: Write, ticks: readonly TickData[]): Promise<number> {
  const rows = ticks.reduce((sum, tick) => sum + packTick(tick).cellCount, 0);
  const start = performance.now();
  for (let at = 0; at < ticks.length; at += ticksPerFlush)
    await run.transaction((tx) => write(tx, ticks.slice(at, at + ticksPerFlush)));
  return rows / ((performance.now() - start) / 1000);
}

async function mergeByArrays(tx: Transaction, ticks: readonly TickData[]): Promise<void> {
  const rows = ticks.flatMap((tick) => tick.cells.map((cell) => ({ ...cell, tick: tick.tickNumber })));
  await tx.query(
    `INSERT INTO sim.environment_data (tick_number, cell_id, owner, x, y, value, state)
     SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::int[], $5::int[], $6::int[], $7::int[])
       AS c(tick_number, cell_id)
     ORDER BY tick_number, cell_id ON CONFLICT DO NOTHING`,
    [
      rows.map((row) => row.tick),
      rows.map((row) => row.cellId),
      rows.map((row) => row.owner || null),
      rows.map((row) => row.x),
      rows.map((row) => row.y),
      rows.map((row) => row.value),
      rows.map((row) => row.state),
    ],
  );
}
