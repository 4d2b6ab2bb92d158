import type { Executor } from "../../../database/index.ts";
import { type GivenOptions, resolveOptions, wholeNumber } from "../../../runtime/index.ts";

/** Statistics of consecutive ticks as one. */
export interface StatisticsBucket {
  /** First and last indexed tick of the bucket. */
  readonly firstTick: number;
  readonly lastTick: number;
  /** How many indexed ticks it has. */
  readonly ticks: number;
  /** Mean, least and greatest number of organisms. */
  readonly population: number;
  readonly populationMin: number;
  readonly populationMax: number;
  /** All births and deaths of the bucket's ticks. */
  readonly births: number;
  readonly deaths: number;
  /** Mean of all energy in the world. */
  readonly totalEnergy: number;
  /** Mean energy of an organism; null when nobody lived. */
  readonly meanEnergy: number | null;
  /** Mean number of cells that are not empty. */
  readonly cells: number;
}

/** Which ticks, and in how many buckets. */
export interface StatisticsRangeOptions {
  /** First tick. Default: the first that is indexed. */
  readonly fromTick?: number;
  /** Last tick, included. Default: the last that is indexed. */
  readonly toTick?: number;
  /** Buckets at most, up to 2,000. Default 200. */
  readonly buckets: number;
}

const bucketsLimit = 2_000;
const anyTick = wholeNumber({ min: 0 });

/**
 * Statistics over a range of ticks, put into buckets of equal width by the server. The range ends where
 * the indexed ticks end, so the buckets lie where the data is; a bucket without ticks is left out.
 *
 * @param run - the run's tables: `database.forRun(schema)`
 * @returns in tick order; empty when nothing is indexed there
 * @throws TallymanError INVALID_OPTION
 * @example
 * ```ts
 * const buckets = await statisticsOverRange(database.forRun(schema), { fromTick: 0, buckets: 400 });
 * plot(buckets.map(({ firstTick, population }) => [firstTick, population]));
 * ```
 */
export async function statisticsOverRange(
  run: Executor,
  given: GivenOptions<StatisticsRangeOptions> = {},
): Promise<StatisticsBucket[]> {
  const { fromTick, toTick, buckets } = resolveOptions<StatisticsRangeOptions>(
    { fromTick: undefined, toTick: undefined, buckets: 200 },
    given,
    { fromTick: anyTick, toTick: anyTick, buckets: wholeNumber({ max: bucketsLimit }) },
  );
  const { rows } = await run.query<StatisticsBucket>(
    `WITH span AS MATERIALIZED (
       SELECT
         (SELECT min(tick_number) FROM sim.tick_statistics WHERE $1::bigint IS NULL OR tick_number >= $1) AS first,
         (SELECT max(tick_number) FROM sim.tick_statistics WHERE $2::bigint IS NULL OR tick_number <= $2) AS last
     )
     SELECT min(tick_number) AS "firstTick", max(tick_number) AS "lastTick", count(*) AS ticks,
       avg(population)::float8 AS population, min(population) AS "populationMin",
       max(population) AS "populationMax", sum(births) AS births, sum(deaths) AS deaths,
       avg(total_energy)::float8 AS "totalEnergy",
       sum(total_energy)::float8 / nullif(sum(population), 0) AS "meanEnergy", avg(cells)::float8 AS cells
     FROM sim.tick_statistics
     WHERE tick_number BETWEEN (SELECT first FROM span) AND (SELECT last FROM span)
     GROUP BY (tick_number - (SELECT first FROM span))
       / ((SELECT (last - first) / $3 FROM span) + 1)
     ORDER BY 1`,
    [fromTick, toTick, buckets],
  );
  return rows;
}
