import type { Executor } from "../../../database/index.ts";

/** How much of a run is in its tables. */
export interface IndexedTotals {
  /** Ticks that have cells. */
  readonly ticks: number;
  readonly cells: number;
}

/** Counts the indexed cells and the ticks they are of. Reads the whole table: for small runs and for proofs. */
export async function indexedTotals(executor: Executor): Promise<IndexedTotals> {
  const { rows } = await executor.query<IndexedTotals>(
    "SELECT count(DISTINCT tick_number) AS ticks, count(*) AS cells FROM sim.environment_data",
  );
  return rows[0] ?? { ticks: 0, cells: 0 };
}
