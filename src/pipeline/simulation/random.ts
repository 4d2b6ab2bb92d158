/** State of a random generator: four 32-bit words, part of the world, so that a world is all there is. */
export type RandomState = Int32Array;

const warmUpRounds = 12;

/** A generator (sfc32) whose numbers depend on the seed alone, on every machine. */
export function randomFrom(seed: number): RandomState {
  const high = Math.floor(seed / 2 ** 32);
  const state = Int32Array.of(seed | 0, high | 0, 0x9e3779b9, 1);
  for (let round = 0; round < warmUpRounds; round++) nextWord(state);
  return state;
}

/** A whole number from 0 to `bound` - 1; `bound` is at most 2^21, so that the product is exact. */
export function randomBelow(state: RandomState, bound: number): number {
  return Math.floor(((nextWord(state) >>> 0) * bound) / 2 ** 32);
}

function nextWord(state: RandomState): number {
  // By index: destructuring would walk an iterator, forty times slower.
  const b = state[1] ?? 0;
  const c = state[2] ?? 0;
  const counter = state[3] ?? 0;
  const word = ((state[0] ?? 0) + b + counter) | 0;
  state[0] = b ^ (b >>> 9);
  state[1] = (c + (c << 3)) | 0;
  state[2] = (((c << 21) | (c >>> 11)) + word) | 0;
  state[3] = (counter + 1) | 0;
  return word;
}
