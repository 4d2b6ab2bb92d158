/** Work that is taken ahead covers no more time than this, so that a second worker finds some too. */
const prefetchHorizonMs = 1_000;

/**
 * How many commands a worker may hold: no more than its handlers work off in a second, or in half a lease when
 * that is less. Pure.
 *
 * @param handlerMs average time of a handler; undefined before the first has ended
 */
export function prefetchLimit(
  options: { readonly concurrency: number; readonly prefetch: number; readonly leaseMs: number },
  handlerMs: number | undefined,
): number {
  const { concurrency, prefetch, leaseMs } = options;
  if (handlerMs === undefined) return Math.min(prefetch, concurrency);
  const horizonMs = Math.min(prefetchHorizonMs, leaseMs / 2);
  const timely = Math.floor((concurrency * horizonMs) / Math.max(handlerMs, 0.001));
  return Math.min(prefetch, Math.max(timely, concurrency));
}
