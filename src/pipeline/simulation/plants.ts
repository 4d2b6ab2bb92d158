import { randomBelow } from "./random.ts";
import { directions, neighbour, type World } from "./world.ts";

/** A part of all cells, chosen by chance, is looked after at each tick: one in so many. */
const cellsPerGrowth = 64;
const foodMax = 160;
const seedlingFood = 12;
/** Chances out of 256 × 256. */
const strayseedFertility = 6;
const remainsRot = 12;
/** Below this vigour, plants wither instead of growing. */
const vigourMin = 72;
const witherLoss = 16;

/** The light moves around the world once in 2048 ticks, and its strength swells and fades in 32768. */
const ticksPerPhase = 8;
const ticksPerEraPhase = 128;
const eraAtStart = 64;

/** Moves the light on: a band, 48 to 255 bright, that travels along the x axis. */
export function shine({ config: { width }, tick, light }: World): void {
  const era = wave(eraAtStart + Math.floor(tick / ticksPerEraPhase));
  for (let x = 0; x < width; x++) {
    const phase = Math.floor((x * 256) / width) + Math.floor(tick / ticksPerPhase);
    light[x] = 48 + ((wave(phase) * (448 + era)) >> 10) + (era >> 3);
  }
}

/** How bright it is in a cell. */
export function lightAt({ config: { width }, light }: World, cell: number): number {
  return light[cell % width] ?? 0;
}

/** Plants sprout, grow and wither; remains rot into seedlings. */
export function growPlants(world: World): void {
  const { random, walls } = world;
  const cells = walls.length;
  const visits = Math.max(1, Math.floor(cells / cellsPerGrowth));
  for (let visit = 0; visit < visits; visit++) {
    const cell = randomBelow(random, cells);
    if (walls[cell] === 0) tend(world, cell);
  }
}

function tend(world: World, cell: number): void {
  const left = world.remains[cell] ?? 0;
  if (left > 0) rot(world, cell, left);
  else growOrWither(world, cell);
}

function growOrWither(world: World, cell: number): void {
  const { food, fertility } = world;
  const vigour = ((fertility[cell] ?? 0) * lightAt(world, cell)) >> 8;
  const grown = food[cell] ?? 0;
  if (grown === 0) sprout(world, cell, vigour);
  else if (vigour < vigourMin) food[cell] = Math.max(0, grown - witherLoss);
  else food[cell] = Math.min(foodMax, grown + (vigour >> 2));
  if (food[cell] === 0) world.owners[cell] = 0;
}

function rot(world: World, cell: number, left: number): void {
  world.remains[cell] = Math.max(0, left - remainsRot);
  if (left > remainsRot) return;
  world.food[cell] = Math.max(seedlingFood, world.food[cell] ?? 0);
}

/** From a neighbour's seed, or rarely from one that came from far. */
function sprout(world: World, cell: number, vigour: number): void {
  const { random, food } = world;
  const near = neighbour(world, cell, randomBelow(random, directions));
  const chance = (food[near] ?? 0) > seedlingFood ? vigour : (vigour * strayseedFertility) >> 8;
  if (randomBelow(random, 256) < chance) food[cell] = seedlingFood;
}

/** A triangle wave, 0 to 254, of period 256: whole numbers, the same on every machine. */
function wave(phase: number): number {
  const place = phase & 255;
  return place < 128 ? place * 2 : (255 - place) * 2;
}
