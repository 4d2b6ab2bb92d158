import { systemClock } from "../runtime/index.ts";

interface Window {
  startMs: number;
  count: number;
}

/** Clients that are remembered: beyond that all begin anew, so that memory stays bounded. */
const clientsMax = 10_000;

/** Counts what each client does in a window of time, and says when it is too much. */
export class RateLimiter {
  readonly #max: number;
  readonly #windowMs: number;
  readonly #windows = new Map<string, Window>();

  constructor({ max, windowMs }: { readonly max: number; readonly windowMs: number }) {
    this.#max = max;
    this.#windowMs = windowMs;
  }

  /** Counts one more; the time to wait when that is too much, else 0. */
  hit(client: string): number {
    const window = this.#windowOf(client);
    window.count++;
    if (window.count <= this.#max) return 0;
    return Math.max(1, window.startMs + this.#windowMs - systemClock.monotonicMs());
  }

  #windowOf(client: string): Window {
    const nowMs = systemClock.monotonicMs();
    const known = this.#windows.get(client);
    if (known && nowMs - known.startMs < this.#windowMs) return known;
    if (this.#windows.size >= clientsMax) this.#windows.clear();
    const window = { startMs: nowMs, count: 0 };
    this.#windows.set(client, window);
    return window;
  }
}
