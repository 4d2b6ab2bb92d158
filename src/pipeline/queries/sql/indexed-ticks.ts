import type { Executor } from "../../../database/index.ts";

/** First and last tick that a table has; ticks between them may still be missing. */
export interface IndexedRange {
  readonly firstTick: number;
  readonly lastTick: number;
}

/** What is indexed of a run; undefined for a table that is empty. */
export interface IndexedTicks {
  readonly environment: IndexedRange | undefined;
  readonly organisms: IndexedRange | undefined;
  readonly statistics: IndexedRange | undefined;
}

type Bounds = readonly [first: number | null, last: number | null];

/**
 * From where to where a run is indexed, table by table. What is missing in between, the run's gaps and
 * ledger tell: see {@link accountForTicks}.
 *
 * @param run - the run's tables: `database.forRun(schema)`
 */
export async function indexedTicks(run: Executor): Promise<IndexedTicks> {
  const { rows } = await run.query<Record<"environment" | "organisms" | "statistics", Bounds>>(
    `SELECT
       (SELECT ARRAY[min(tick_number), max(tick_number)] FROM sim.environment_data) AS environment,
       (SELECT ARRAY[min(tick_number), max(tick_number)] FROM sim.organism_data) AS organisms,
       (SELECT ARRAY[min(tick_number), max(tick_number)] FROM sim.tick_statistics) AS statistics`,
  );
  const [row] = rows;
  return {
    environment: rangeOf(row?.environment),
    organisms: rangeOf(row?.organisms),
    statistics: rangeOf(row?.statistics),
  };
}

function rangeOf([first, last]: Bounds = [null, null]): IndexedRange | undefined {
  return first === null || last === null ? undefined : { firstTick: Number(first), lastTick: Number(last) };
}
