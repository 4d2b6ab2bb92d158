import { isTallymanError, TallymanError } from "../errors/index.ts";

/** The ABORTED error of a wait that `signal` ended; the signal's reason is its cause. */
export function abortedError(signal: AbortSignal): TallymanError {
  return new TallymanError("ABORTED", "The wait was aborted.", { cause: signal.reason });
}

/**
 * Throws ABORTED when the signal is already aborted. Call it before work that can't be interrupted.
 *
 * @throws TallymanError ABORTED
 */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw abortedError(signal);
}

/**
 * True when an error says "I was aborted": our own ABORTED, or the AbortError of Node and of fetch.
 *
 * @example
 * ```ts
 * if (signal.aborted && isAbort(error)) return; // asked to stop, and it stopped
 * ```
 */
export function isAbort(error: unknown): boolean {
  return isTallymanError(error, "ABORTED") || (error instanceof Error && error.name === "AbortError");
}

/** An AbortController that also follows a parent signal until it is disposed. */
export interface LinkedAbort extends Disposable {
  readonly signal: AbortSignal;
  abort(): void;
}

/**
 * Links a short-lived controller to a long-lived signal. AbortSignal.any would do, but it keeps a trace of
 * every child on the parent until a collection; a polling loop makes thousands of them on one signal.
 */
export function linkedAbort(parent?: AbortSignal): LinkedAbort {
  const controller = new AbortController();
  const follow = () => controller.abort(parent?.reason);
  if (parent?.aborted) follow();
  else parent?.addEventListener("abort", follow, { once: true });
  return {
    signal: controller.signal,
    abort: () => controller.abort(),
    [Symbol.dispose]: () => parent?.removeEventListener("abort", follow),
  };
}
