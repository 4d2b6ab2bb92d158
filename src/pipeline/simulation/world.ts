import { type GivenOptions, resolveOptions, wholeNumber } from "../../runtime/index.ts";
import { type Genome, randomGenome } from "./genome.ts";
import { type RandomState, randomBelow, randomFrom } from "./random.ts";
import { layTerrain } from "./terrain.ts";

/** What a world is made from; the same settings give the same world at every tick, on every machine. */
export interface WorldConfig {
  /** Cells from left to right, 4 to 1024. Default 64. */
  readonly width: number;
  /** Cells from top to bottom, 4 to 1024. Default 64. */
  readonly height: number;
  /** Where all chance begins; 0 or any safe whole number above. Default 1. */
  readonly seed: number;
}

/** One organism that lives, or has just died. */
export interface Creature {
  readonly id: number;
  /** The organism that it stems from; undefined for the first ones. */
  readonly parentId: number | undefined;
  readonly birthTick: number;
  readonly genome: Genome;
  /** The genome that its species began with: what it recognises its kin by. */
  readonly species: Genome;
  cell: number;
  heading: number;
  energy: number;
  deathTick: number | undefined;
}

/** What a dead organism leaves to a world in which too few are alive. */
export interface Spore {
  readonly parentId: number;
  readonly genome: Genome;
}

/** The whole state of a simulated world. Only {@link step} changes it. */
export interface World {
  readonly config: Readonly<WorldConfig>;
  readonly random: RandomState;
  /** 1 where there is a wall. */
  readonly walls: Uint8Array;
  /** How well plants grow, by cell. */
  readonly fertility: Uint8Array;
  /** How bright it is, by column. */
  readonly light: Uint8Array;
  readonly food: Uint8Array;
  readonly remains: Uint8Array;
  /** The organism whose remains lie in a cell, or fed what grows there; 0 for none. */
  readonly owners: Float64Array;
  readonly occupants: (Creature | undefined)[];
  /** In the order of their births. */
  readonly living: Creature[];
  /** Those who died since the deaths were last forgotten. */
  readonly died: Creature[];
  readonly spores: Spore[];
  tick: number;
  nextId: number;
}

const sideMax = 1024;
const cellsPerFounder = 64;
const founderEnergy = 300;

/** Eight directions, clockwise from the north. */
const stepsX = [0, 1, 1, 1, 0, -1, -1, -1] as const;
const stepsY = [-1, -1, 0, 1, 1, 1, 0, -1] as const;

/** How many directions there are. */
export const directions = stepsX.length;

/**
 * Makes a world at tick 0: soil, walls, first plants and first organisms.
 *
 * @throws TallymanError INVALID_OPTION
 * @example
 * ```ts
 * const world = createWorld({ seed: 7 });
 * step(world);
 * sample(world).organisms.length;
 * ```
 */
export function createWorld(given: GivenOptions<WorldConfig> = {}): World {
  const side = wholeNumber({ min: 4, max: sideMax });
  const config = resolveOptions<WorldConfig>({ width: 64, height: 64, seed: 1 }, given, {
    width: side,
    height: side,
    seed: wholeNumber({ min: 0 }),
  });
  const world = emptyWorld(config);
  layTerrain(world);
  const founders = Math.ceil((config.width * config.height) / cellsPerFounder);
  for (let founder = 0; founder < founders; founder++) settle(world);
  return world;
}

/** The cell next to another one; the edges of the world meet. */
export function neighbour({ config: { width, height } }: World, cell: number, direction: number): number {
  const x = cell % width;
  const toX = wrapped(x + (stepsX[direction] ?? 0), width);
  const toY = wrapped((cell - x) / width + (stepsY[direction] ?? 0), height);
  return toY * width + toX;
}

function wrapped(place: number, size: number): number {
  if (place < 0) return place + size;
  return place < size ? place : place - size;
}

/** Nobody and no wall is there. */
export function isFree(world: World, cell: number): boolean {
  return world.walls[cell] === 0 && world.occupants[cell] === undefined;
}

/** Puts a new organism into a free cell. */
export function bear(
  world: World,
  cell: number,
  born: Pick<Creature, "parentId" | "genome" | "species" | "energy">,
): void {
  const creature: Creature = {
    ...born,
    id: world.nextId++,
    birthTick: world.tick,
    cell,
    heading: randomBelow(world.random, directions),
    deathTick: undefined,
  };
  world.living.push(creature);
  world.occupants[cell] = creature;
}

/** One of the first organisms, anywhere. */
function settle(world: World): void {
  const cell = randomBelow(world.random, world.walls.length);
  const genome = randomGenome(world.random);
  if (isFree(world, cell))
    bear(world, cell, { parentId: undefined, genome, species: genome, energy: founderEnergy });
}

function emptyWorld(config: Readonly<WorldConfig>): World {
  const cells = config.width * config.height;
  return {
    config,
    random: randomFrom(config.seed),
    walls: new Uint8Array(cells),
    fertility: new Uint8Array(cells),
    light: new Uint8Array(config.width),
    food: new Uint8Array(cells),
    remains: new Uint8Array(cells),
    owners: new Float64Array(cells),
    occupants: Array.from({ length: cells }, () => undefined),
    living: [],
    died: [],
    spores: [],
    tick: 0,
    nextId: 1,
  };
}
