import type { Executor } from "../../../database/index.ts";
import { type GivenOptions, resolveOptions, wholeNumber } from "../../../runtime/index.ts";

/** A cell that is not empty. */
export interface WorldCell {
  readonly cellId: number;
  readonly x: number;
  readonly y: number;
  /** See CellState. */
  readonly state: number;
  readonly value: number;
  /** The organism that owns it; null for none. */
  readonly owner: number | null;
}

/** The world at one tick. */
export interface WorldAtTick {
  /** The tick that is shown: the one asked for, or the newest indexed one before it. */
  readonly tickNumber: number;
  /** By cell id. */
  readonly cells: readonly WorldCell[];
  /** True when there are more cells: ask again with `afterCellId`. */
  readonly truncated: boolean;
}

/** Which tick, and how much of it. */
export interface WorldOptions {
  /** Show this tick or none, instead of the newest indexed one that is not later. Default false. */
  readonly exact: boolean;
  /** Cells at most, up to 100,000. Default 65,536: a world of 256 × 256. */
  readonly cellsMax: number;
  /** Begin behind this cell; for further pages. Default: at the first. */
  readonly afterCellId: number;
}

const worldDefaults: WorldOptions = { exact: false, cellsMax: 65_536, afterCellId: -1 };
const cellsLimit = 100_000;

/**
 * The world at a tick, or, where that tick was not sampled or is not indexed, at the newest indexed
 * tick before it. A tick is indexed as a whole or not at all. A tick without any cell leaves no row, so
 * it is taken for one that is not indexed.
 *
 * @param run - the run's tables: `database.forRun(schema)`
 * @returns undefined when there is no such tick
 * @throws TallymanError INVALID_OPTION
 * @example
 * ```ts
 * const world = await worldAtTick(database.forRun(schema), 12_345);
 * if (world) draw(world.cells, `tick ${world.tickNumber}`);
 * ```
 */
export async function worldAtTick(
  run: Executor,
  tick: number,
  given: GivenOptions<WorldOptions> = {},
): Promise<WorldAtTick | undefined> {
  const { exact, cellsMax, afterCellId } = resolveOptions<WorldOptions>(worldDefaults, given, {
    cellsMax: wholeNumber({ max: cellsLimit }),
    afterCellId: wholeNumber({ min: -1 }),
  });
  const { rows } = await run.query<WorldCell & { tickNumber: number }>(
    `SELECT tick_number AS "tickNumber", cell_id AS "cellId", x, y, state, value, owner
     FROM sim.environment_data
     WHERE tick_number = (
         SELECT tick_number FROM sim.environment_data
         WHERE tick_number BETWEEN $2 AND $1
         ORDER BY tick_number DESC LIMIT 1)
       AND cell_id > $3
     ORDER BY cell_id LIMIT $4`,
    [tick, exact ? tick : Number.MIN_SAFE_INTEGER, afterCellId, cellsMax + 1],
  );
  const [first] = rows;
  if (!first) return undefined;
  const cells = rows.slice(0, cellsMax).map(({ tickNumber: _, ...cell }) => cell);
  return { tickNumber: first.tickNumber, cells, truncated: rows.length > cellsMax };
}
