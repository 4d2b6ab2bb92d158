import { randomBelow } from "./random.ts";
import { directions, neighbour, type World } from "./world.ts";

const barrenFertility = 24;
const fertilityMax = 255;
const cellsPerMeadow = 256;
const meadowRadiusMin = 4;
const meadowRadiusMax = 13;
const cellsPerWall = 512;
const wallCellsMin = 6;
const wallCellsMax = 14;
const firstFood = 60;

/** Soil in meadows, walls in strands, and the first plants where the soil is good. */
export function layTerrain(world: World): void {
  const cells = world.walls.length;
  world.fertility.fill(barrenFertility);
  for (let meadow = 0; meadow < Math.ceil(cells / cellsPerMeadow); meadow++) layMeadow(world);
  for (let wall = 0; wall < Math.floor(cells / cellsPerWall); wall++) buildWall(world);
  for (let cell = 0; cell < cells; cell++) {
    const isSown = randomBelow(world.random, fertilityMax * 3) < (world.fertility[cell] ?? 0);
    if (isSown && world.walls[cell] === 0) world.food[cell] = firstFood;
  }
}

/** Fertile in the middle, less so towards the rim; meadows that overlap add up. */
function layMeadow({ config: { width, height }, random, fertility }: World): void {
  const wanted = meadowRadiusMin + randomBelow(random, meadowRadiusMax - meadowRadiusMin);
  const radius = Math.min(wanted, Math.floor(Math.min(width, height) / 2));
  const [middleX, middleY] = [randomBelow(random, width), randomBelow(random, height)];
  for (let dy = -radius; dy <= radius; dy++) {
    for (let dx = -radius; dx <= radius; dx++) {
      const nearness = radius * radius - dx * dx - dy * dy;
      if (nearness <= 0) continue;
      const cell = ((middleY + dy + height) % height) * width + ((middleX + dx + width) % width);
      const added = Math.floor((200 * nearness) / (radius * radius));
      fertility[cell] = Math.min(fertilityMax, (fertility[cell] ?? 0) + added);
    }
  }
}

/** A strand that turns now and then. */
function buildWall(world: World): void {
  const { random, walls } = world;
  let cell = randomBelow(random, walls.length);
  let direction = randomBelow(random, directions);
  const length = wallCellsMin + randomBelow(random, wallCellsMax - wallCellsMin);
  for (let built = 0; built < length; built++) {
    walls[cell] = 1;
    if (randomBelow(random, 4) === 0) direction = (direction + 1 + randomBelow(random, 2) * 6) % directions;
    cell = neighbour(world, cell, direction);
  }
}
