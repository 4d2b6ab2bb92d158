import type { TickData } from "../../../contracts/index.ts";
import type { Transaction } from "../../../database/index.ts";
import { tickStatistics } from "../tick-statistics.ts";
import { distinctTicks } from "./per-tick-table.ts";

/** How ticks are counted. */
export interface StatisticsOptions {
  /** The run's sampling interval; births are counted since the sampled tick before. Default 1. */
  readonly samplingInterval?: number;
}

/**
 * Enters one row per tick, and corrects one that is there and differs; a row depends on its tick alone,
 * so any order and repetition gives the same table.
 *
 * @returns the number of rows that are new or changed
 */
export async function mergeTickStatistics(
  tx: Transaction,
  ticks: readonly TickData[],
  { samplingInterval = 1 }: StatisticsOptions = {},
): Promise<number> {
  const rows = distinctTicks(ticks).map((tick) => tickStatistics(tick, samplingInterval));
  const { rowCount } = await tx.query(
    `INSERT INTO sim.tick_statistics AS t
       (tick_number, total_energy, mean_energy, population, births, deaths, cells)
     SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::float8[], $4::int[], $5::int[], $6::int[], $7::int[])
       AS counted(tick_number, total_energy, mean_energy, population, births, deaths, cells)
     ORDER BY counted.tick_number
     ON CONFLICT (tick_number) DO UPDATE SET
       (total_energy, mean_energy, population, births, deaths, cells) =
       (excluded.total_energy, excluded.mean_energy, excluded.population, excluded.births, excluded.deaths,
        excluded.cells)
     WHERE (t.total_energy, t.mean_energy, t.population, t.births, t.deaths, t.cells) IS DISTINCT FROM
       (excluded.total_energy, excluded.mean_energy, excluded.population, excluded.births, excluded.deaths,
        excluded.cells)`,
    [
      rows.map((row) => row.tickNumber),
      rows.map((row) => row.totalEnergy),
      rows.map((row) => row.meanEnergy ?? null),
      rows.map((row) => row.population),
      rows.map((row) => row.births),
      rows.map((row) => row.deaths),
      rows.map((row) => row.cells),
    ],
  );
  return rowCount ?? 0;
}
