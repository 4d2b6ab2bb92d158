import { geneMax, inherit, speciesOf } from "./genome.ts";
import { lightAt } from "./plants.ts";
import { randomBelow } from "./random.ts";
import { bear, type Creature, directions, isFree, neighbour, type World } from "./world.ts";

const biteMax = 32;
/** What grazing leaves of a plant: its roots. */
const rootFood = 4;
const attackLoss = 90;
const attackGain = 70;
const aggressionMin = 80;
const metabolism = 3;
/** Each so many ticks of age cost one more unit of energy per tick. */
const ageStep = 400;
const breedingEnergyMin = 220;
const birthLoss = 20;
const remainsMin = 40;
const remainsMax = 200;
const energyMax = 2_000;
const sporesMax = 16;
const sporeEnergy = 300;
/** Below one organism in so many cells, a spore hatches. */
const cellsPerSurvivor = 512;

/** Everybody's turn: live, move, feed, breed, die. Those born now act from the next tick on. */
export function moveCreatures(world: World): void {
  const { living } = world;
  const acting = living.length;
  for (let index = 0; index < acting; index++) {
    const creature = living[index];
    if (creature && creature.deathTick === undefined) act(world, creature);
  }
  buryDead(world);
  if (living.length < Math.ceil(world.walls.length / cellsPerSurvivor)) hatchSpore(world);
}

function act(world: World, creature: Creature): void {
  const age = world.tick - creature.birthTick;
  creature.energy -= metabolism + (creature.genome.aggression >> 6) + Math.floor(age / ageStep);
  if (creature.energy <= 0) die(world, creature);
  else live(world, creature);
}

function live(world: World, creature: Creature): void {
  const direction = chooseDirection(world, creature);
  if (direction >= 0) go(world, creature, direction);
  feed(world, creature);
  breed(world, creature);
}

/** The best of the eight directions by the organism's own weights; -1 when it is walled in. */
function chooseDirection(world: World, creature: Creature): number {
  const wander = creature.genome.restlessness * 24 + 1;
  const here = lightAt(world, creature.cell);
  let best = -1;
  let bestScore = Number.NEGATIVE_INFINITY;
  for (let direction = 0; direction < directions; direction++) {
    const cell = neighbour(world, creature.cell, direction);
    if (world.walls[cell] === 1) continue;
    const score = attraction(world, creature, cell, here) + randomBelow(world.random, wander);
    const inertia = direction === creature.heading ? creature.genome.persistence * 16 : 0;
    if (score + inertia <= bestScore) continue;
    best = direction;
    bestScore = score + inertia;
  }
  return best;
}

function attraction(world: World, { genome, species }: Creature, cell: number, here: number): number {
  const other = world.occupants[cell];
  if (other) return isPrey(genome.aggression, species, other) ? genome.aggression * 64 : -1e6;
  const light = (lightAt(world, cell) - here) * genome.warmth * 4;
  return genome.grazing * (world.food[cell] ?? 0) + genome.scavenging * (world.remains[cell] ?? 0) + light;
}

function isPrey(aggression: number, species: Creature["species"], other: Creature): boolean {
  return aggression >= aggressionMin && other.species !== species;
}

function go(world: World, creature: Creature, direction: number): void {
  const cell = neighbour(world, creature.cell, direction);
  creature.heading = direction;
  const other = world.occupants[cell];
  if (other) attack(world, creature, other);
  else moveTo(world, creature, cell);
}

function moveTo(world: World, creature: Creature, cell: number): void {
  world.occupants[creature.cell] = undefined;
  world.occupants[cell] = creature;
  creature.cell = cell;
}

function attack(world: World, creature: Creature, other: Creature): void {
  if (!isPrey(creature.genome.aggression, creature.species, other)) return;
  other.energy -= attackLoss;
  creature.energy = Math.min(energyMax, creature.energy + attackGain);
  if (other.energy <= 0) die(world, other);
}

/** What digests remains well digests plants badly. */
function feed(world: World, creature: Creature): void {
  const { food, remains } = world;
  const { cell, genome } = creature;
  const plants = Math.max(0, Math.min(biteMax, (food[cell] ?? 0) - rootFood));
  const meat = Math.min(biteMax, remains[cell] ?? 0);
  if (plants + meat === 0) return;
  food[cell] = (food[cell] ?? 0) - plants;
  remains[cell] = (remains[cell] ?? 0) - meat;
  if (food[cell] === 0 && remains[cell] === 0) world.owners[cell] = 0;
  const gained = plants * (2 * geneMax - genome.scavenging) + meat * 2 * genome.scavenging;
  creature.energy = Math.min(energyMax, creature.energy + Math.floor(gained / (2 * geneMax)));
}

function breed(world: World, creature: Creature): void {
  if (creature.energy < breedingEnergyMin + creature.genome.patience * 3) return;
  const cell = neighbour(world, creature.cell, randomBelow(world.random, directions));
  if (!isFree(world, cell)) return;
  const energy = Math.floor(creature.energy / 2) - birthLoss;
  creature.energy -= energy + birthLoss;
  const genome = inherit(world.random, creature.genome);
  bear(world, cell, { parentId: creature.id, genome, species: speciesOf(genome, creature.species), energy });
}

function die(world: World, creature: Creature): void {
  const { cell, energy, id, genome } = creature;
  creature.deathTick = world.tick;
  world.occupants[cell] = undefined;
  world.remains[cell] = Math.min(remainsMax, (world.remains[cell] ?? 0) + remainsMin + Math.max(0, energy));
  world.owners[cell] = id;
  world.died.push(creature);
  world.spores.push({ parentId: id, genome });
  if (world.spores.length > sporesMax) world.spores.shift();
}

function buryDead({ living }: World): void {
  let kept = 0;
  for (const creature of living) if (creature.deathTick === undefined) living[kept++] = creature;
  living.length = kept;
}

/** Nothing dies out for good: what the dead left hatches, somewhere. */
function hatchSpore(world: World): void {
  const { random, spores } = world;
  const spore = spores[randomBelow(random, Math.max(1, spores.length))];
  const cell = randomBelow(random, world.walls.length);
  if (!spore || !isFree(world, cell)) return;
  const genome = inherit(random, spore.genome);
  bear(world, cell, { parentId: spore.parentId, genome, species: genome, energy: sporeEnergy });
}
