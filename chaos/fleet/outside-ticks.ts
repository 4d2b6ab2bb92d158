/** Beyond every tick that is produced: a whole file of these lies outside of the storage. */
export const outsideTicks = { first: 9_000_000_000, last: 9_000_000_019 } as const;
