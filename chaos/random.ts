/** Numbers in [0, 1) that follow from a seed (mulberry32): the same seed, the same numbers. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The item that a number in [0, 1) points at. */
export function pick<T>(items: readonly T[], random: number): T {
  const item = items[Math.min(items.length - 1, Math.floor(random * items.length))];
  if (item === undefined) throw new RangeError("There is nothing to pick from.");
  return item;
}
