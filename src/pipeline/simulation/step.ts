import { moveCreatures } from "./creatures.ts";
import { growPlants, shine } from "./plants.ts";
import type { World } from "./world.ts";

/**
 * Moves a world on by one tick, in place. No input and no output: the state before decides the state after.
 *
 * @example
 * ```ts
 * while (world.tick < 1_000) step(world);
 * ```
 */
export function step(world: World): void {
  world.tick++;
  shine(world);
  growPlants(world);
  moveCreatures(world);
}
