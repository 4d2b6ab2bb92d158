import { create, toBinary } from "@bufbuild/protobuf";
import {
  type Cell,
  CellSchema,
  CellState,
  OrganismSchema,
  type TickData,
  TickDataSchema,
} from "../../src/contracts/index.ts";

/** The run that all ticks are of. */
export const worldRunId = "20251006143025-550e8400-e29b-41d4-a716-446655440000";

const width = 64;

/** How much there is in a world. */
export interface WorldSize {
  readonly walls: number;
  readonly foodAtStart: number;
  readonly foodMax: number;
  readonly organisms: number;
}

/** 300 to 500 cells and 40 organisms per tick. */
const usualSize: WorldSize = { walls: 60, foodAtStart: 240, foodMax: 400, organisms: 40 };

/**
 * Ticks of a small world that behaves like the simulated one: walls stay, food grows and is eaten, organisms
 * walk, age and lose energy. The same seed gives the same ticks. A cell holds one thing.
 */
export function* worldTicks(ticks: number, seed = 1, size = usualSize): Generator<TickData> {
  const random = mulberry32(seed);
  const place = () => Math.floor(random() * width * width);
  const { walls, foodAtStart, foodMax, organisms: organismsAtStart } = size;
  const wallPlaces = Array.from({ length: walls }, place);
  const food = new Map(Array.from({ length: foodAtStart }, () => [place(), 1 + Math.floor(random() * 50)]));
  const organisms = Array.from({ length: organismsAtStart }, (_, index) => ({
    id: index + 1,
    x: Math.floor(random() * width),
    y: Math.floor(random() * width),
    energy: 500 + Math.floor(random() * 500),
    birth: -Math.floor(random() * 300),
  }));
  for (let tick = 0; tick < ticks; tick++) {
    for (const organism of organisms) {
      organism.x = (organism.x + Math.floor(random() * 3) + width - 1) % width;
      organism.y = (organism.y + Math.floor(random() * 3) + width - 1) % width;
      organism.energy += (food.get(organism.y * width + organism.x) ?? 0) - 1;
      food.delete(organism.y * width + organism.x);
    }
    for (let grown = 0; grown < 4 && food.size < foodMax; grown++)
      food.set(place(), 1 + Math.floor(random() * 50));
    const cell = (cellId: number, state: CellState, value: number, owner = 0) =>
      create(CellSchema, {
        cellId,
        x: cellId % width,
        y: Math.floor(cellId / width),
        state,
        value,
        owner: BigInt(owner),
      });
    yield create(TickDataSchema, {
      tickNumber: BigInt(tick),
      simulationRunId: worldRunId,
      capturedAtMs: BigInt(1_760_000_000_000 + tick * 17 + Math.floor(random() * 5)),
      cells: onePerPlace([
        ...wallPlaces.map((id) => cell(id, CellState.WALL, 0)),
        ...[...food].map(([id, value]) => cell(id, CellState.FOOD, value)),
        ...organisms.map(({ id, x, y, energy }) => cell(y * width + x, CellState.BODY, energy, id)),
      ]),
      organisms: organisms.map(({ id, x, y, energy, birth }) =>
        create(OrganismSchema, {
          organismId: BigInt(id),
          birthTick: BigInt(Math.max(birth, 0)),
          x,
          y,
          energy,
          age: tick - birth,
        }),
      ),
    });
  }
}

/** The same ticks, encoded. */
export function* worldRecords(ticks: number, seed = 1): Generator<Uint8Array> {
  for (const tick of worldTicks(ticks, seed)) yield toBinary(TickDataSchema, tick);
}

/** By cell; of several things in one, the last. */
function onePerPlace(cells: readonly Cell[]): Cell[] {
  const placed = new Map(cells.map((cell) => [cell.cellId, cell]));
  return [...placed.values()].sort((a, b) => a.cellId - b.cellId);
}

function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
