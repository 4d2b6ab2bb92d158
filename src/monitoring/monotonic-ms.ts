/** A clock in milliseconds that starts at zero or above and never runs backwards; tests pass their own. */
export type NowMs = () => number;

/**
 * The process's monotonic clock. Reading it allocates 16 bytes, as reading any clock of Node does (the
 * number is boxed), which is why recording accepts a time that its caller has read already.
 */
export const monotonicMs: NowMs = () => performance.now();
