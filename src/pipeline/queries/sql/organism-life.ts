import type { Executor } from "../../../database/index.ts";
import { type GivenOptions, resolveOptions, wholeNumber } from "../../../runtime/index.ts";

/** Where an organism was at a tick, and how it fared. */
export interface PathPoint {
  readonly tickNumber: number;
  readonly x: number;
  readonly y: number;
  readonly energy: number;
  readonly age: number;
}

/** An organism from birth to death. */
export interface OrganismHistory {
  readonly organismId: number;
  readonly birthTick: number;
  /** Null for the first ones. */
  readonly parentId: number | null;
  /** Null while it lives, as far as is indexed. */
  readonly deathTick: number | null;
  /** Organisms that stem from it. */
  readonly children: number;
  /** In tick order, spread evenly over its life. */
  readonly path: readonly PathPoint[];
}

/** How much of a life to show. */
export interface OrganismLifeOptions {
  /** Points of the path at most, up to 2,000. Default 200. */
  readonly pointsMax: number;
}

const pointsLimit = 2_000;

/**
 * An organism's life. The path has at most `pointsMax` of its indexed ticks, the first and the last
 * among them; where ticks are missing, the one before stands in, so points may be fewer.
 *
 * @param run - the run's tables: `database.forRun(schema)`
 * @returns undefined for an organism that is not indexed
 * @throws TallymanError INVALID_OPTION
 */
export async function organismLife(
  run: Executor,
  organismId: number,
  given: GivenOptions<OrganismLifeOptions> = {},
): Promise<OrganismHistory | undefined> {
  const { pointsMax } = resolveOptions<OrganismLifeOptions>({ pointsMax: 200 }, given, {
    pointsMax: wholeNumber({ min: 2, max: pointsLimit }),
  });
  const life = await selectLife(run, organismId);
  return life && { ...life, path: await selectPath(run, life, pointsMax) };
}

async function selectLife(
  run: Executor,
  organismId: number,
): Promise<Omit<OrganismHistory, "path"> | undefined> {
  const { rows } = await run.query<Omit<OrganismHistory, "path">>(
    `SELECT organism_id AS "organismId", birth_tick AS "birthTick", parent_id AS "parentId",
       death_tick AS "deathTick",
       (SELECT count(*) FROM sim.organisms child WHERE child.parent_id = $1) AS children
     FROM sim.organisms WHERE organism_id = $1`,
    [organismId],
  );
  return rows[0];
}

/**
 * The table's key begins with the tick, and a second index for organisms would slow every insert. So
 * even steps from birth to death are looked up: for each, the newest indexed tick, then the organism in
 * it. Two descents of the index per point, however many rows there are.
 */
async function selectPath(
  run: Executor,
  { organismId, birthTick, deathTick }: Omit<OrganismHistory, "path">,
  points: number,
): Promise<PathPoint[]> {
  const { rows } = await run.query<PathPoint>(
    `WITH span AS MATERIALIZED (
       SELECT
         (SELECT tick_number FROM sim.organism_data WHERE tick_number >= $2 ORDER BY tick_number LIMIT 1) AS first,
         coalesce(
           (SELECT tick_number FROM sim.organism_data WHERE tick_number >= $3::bigint ORDER BY tick_number LIMIT 1),
           (SELECT tick_number FROM sim.organism_data ORDER BY tick_number DESC LIMIT 1)) AS last
     ), steps AS MATERIALIZED (
       SELECT DISTINCT indexed.tick_number
       FROM span, generate_series(0, $4::int - 1) AS step,
         LATERAL (
           SELECT d.tick_number FROM sim.organism_data d
           WHERE d.tick_number >= span.first
             AND d.tick_number <= span.first + div((span.last - span.first)::numeric * step, $4 - 1)::bigint
           ORDER BY d.tick_number DESC LIMIT 1) AS indexed
     )
     SELECT d.tick_number AS "tickNumber", d.x, d.y, d.energy, d.age
     FROM steps, LATERAL (
       SELECT * FROM sim.organism_data o
       WHERE o.tick_number = steps.tick_number AND o.organism_id = $1 LIMIT 1) AS d
     ORDER BY d.tick_number`,
    [organismId, birthTick, deathTick, points],
  );
  return rows;
}
