import type { Executor } from "../../../database/index.ts";
import { type GivenOptions, resolveOptions, wholeNumber } from "../../../runtime/index.ts";

/** An organism at one tick. */
export interface OrganismAtTick {
  readonly organismId: number;
  readonly x: number;
  readonly y: number;
  readonly energy: number;
  readonly age: number;
}

/** Who lives at one tick. */
export interface OrganismsAtTick {
  /** The tick that is shown: the one asked for, or the newest indexed one before it. */
  readonly tickNumber: number;
  /** By organism id. */
  readonly organisms: readonly OrganismAtTick[];
  /** True when there are more: ask again with `afterOrganismId`. */
  readonly truncated: boolean;
}

/** How many of them. */
export interface OrganismsOptions {
  /** Organisms at most, up to 10,000. Default 10,000. */
  readonly organismsMax: number;
  /** Begin behind this organism; for further pages. Default: at the first. */
  readonly afterOrganismId: number;
}

const organismsLimit = 10_000;

/**
 * The population at a tick, or at the newest indexed tick before it. Those that died since the sampled tick before
 * are in the table and not in the population.
 *
 * @param run - the run's tables: `database.forRun(schema)`
 * @returns undefined when there is no such tick
 * @throws TallymanError INVALID_OPTION
 */
export async function organismsAtTick(
  run: Executor,
  tick: number,
  given: GivenOptions<OrganismsOptions> = {},
): Promise<OrganismsAtTick | undefined> {
  const { organismsMax, afterOrganismId } = resolveOptions<OrganismsOptions>(
    { organismsMax: organismsLimit, afterOrganismId: -1 },
    given,
    { organismsMax: wholeNumber({ max: organismsLimit }), afterOrganismId: wholeNumber({ min: -1 }) },
  );
  const tickNumber = await newestTick(run, tick);
  if (tickNumber === undefined) return undefined;
  const { rows } = await run.query<OrganismAtTick>(
    `SELECT d.organism_id AS "organismId", d.x, d.y, d.energy, d.age
     FROM sim.organism_data d LEFT JOIN sim.organisms o USING (organism_id)
     WHERE d.tick_number = $1 AND d.organism_id > $2 AND (o.death_tick IS NULL OR o.death_tick > $1)
     ORDER BY d.organism_id LIMIT $3`,
    [tickNumber, afterOrganismId, organismsMax + 1],
  );
  return { tickNumber, organisms: rows.slice(0, organismsMax), truncated: rows.length > organismsMax };
}

async function newestTick(run: Executor, tick: number): Promise<number | undefined> {
  const { rows } = await run.query<{ tickNumber: number }>(
    `SELECT tick_number AS "tickNumber" FROM sim.organism_data
     WHERE tick_number <= $1 ORDER BY tick_number DESC LIMIT 1`,
    [tick],
  );
  return rows[0]?.tickNumber;
}
