import { type Cell, CellState, type Organism, type TickData } from "../../contracts/index.ts";
import type { Creature, World } from "./world.ts";

/**
 * The world as it is, as a record: every cell that is not empty, every organism that lives or died since
 * {@link forgetDeaths}. Changes nothing; the run's id and the time of capture are the caller's to set.
 *
 * @example
 * ```ts
 * const tick = sample(world);
 * tick.cells.filter(({ state }) => state === CellState.FOOD);
 * ```
 */
export function sample(world: World): TickData {
  return {
    $typeName: "tallyman.v1.TickData",
    tickNumber: BigInt(world.tick),
    simulationRunId: "",
    capturedAtMs: 0n,
    cells: sampleCells(world),
    organisms: [...world.living, ...world.died].map((creature) => sampleCreature(world, creature)),
  };
}

/** The dead were recorded, or need not be: they are in no later record. */
export function forgetDeaths(world: World): void {
  world.died.length = 0;
}

function sampleCells(world: World): Cell[] {
  const { width } = world.config;
  const cells: Cell[] = [];
  for (let cellId = 0; cellId < world.walls.length; cellId++) {
    const state = stateOf(world, cellId);
    if (state === CellState.UNSPECIFIED) continue;
    const x = cellId % width;
    cells.push({
      $typeName: "tallyman.v1.Cell",
      cellId,
      x,
      y: (cellId - x) / width,
      state,
      value: amountIn(world, cellId, state),
      owner: ownerOf(world, cellId),
    });
  }
  return cells;
}

function stateOf(world: World, cell: number): CellState {
  if (world.occupants[cell]) return CellState.BODY;
  if ((world.remains[cell] ?? 0) > 0) return CellState.REMAINS;
  if ((world.food[cell] ?? 0) > 0) return CellState.FOOD;
  return world.walls[cell] === 1 ? CellState.WALL : CellState.UNSPECIFIED;
}

function amountIn(world: World, cell: number, state: CellState): number {
  if (state === CellState.BODY) return world.occupants[cell]?.energy ?? 0;
  if (state === CellState.REMAINS) return world.remains[cell] ?? 0;
  return state === CellState.FOOD ? (world.food[cell] ?? 0) : 0;
}

function ownerOf(world: World, cell: number): bigint {
  const owner = world.occupants[cell]?.id ?? world.owners[cell] ?? 0;
  return owner === 0 ? 0n : BigInt(owner);
}

function sampleCreature({ tick, config: { width } }: World, creature: Creature): Organism {
  const { id, parentId, birthTick, cell, energy, deathTick } = creature;
  const x = cell % width;
  return {
    $typeName: "tallyman.v1.Organism",
    organismId: BigInt(id),
    ...(parentId !== undefined && { parentId: BigInt(parentId) }),
    birthTick: BigInt(birthTick),
    x,
    y: (cell - x) / width,
    energy,
    age: (deathTick ?? tick) - birthTick,
    ...(deathTick !== undefined && { deathTick: BigInt(deathTick) }),
  };
}
