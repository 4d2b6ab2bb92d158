import { setImmediate as settle } from "node:timers/promises";
import { abortedError, type Clock } from "../runtime/index.ts";

/** Where the wall clock of a {@link FakeClock} starts unless told: 1 January 2025, UTC. */
const startMsDefault = Date.UTC(2025, 0, 1);

interface Sleeper {
  readonly dueMs: number;
  wake(): void;
}

/**
 * A clock that stands still until the test moves it.
 *
 * @example
 * ```ts
 * const clock = new FakeClock();
 * const polling = wakeUp.wait(60_000);
 * await clock.advance(60_000);
 * expect(await polling).toBe(false);
 * ```
 */
export class FakeClock implements Clock {
  readonly #startMs: number;
  readonly #sleepers: Sleeper[] = [];
  #elapsedMs = 0;

  constructor(startMs: number = startMsDefault) {
    this.#startMs = startMs;
  }

  now(): number {
    return this.#startMs + this.#elapsedMs;
  }

  monotonicMs(): number {
    return this.#elapsedMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(abortedError(signal));
      const abort = () => {
        this.#remove(sleeper);
        if (signal) reject(abortedError(signal));
      };
      const wake = () => {
        signal?.removeEventListener("abort", abort);
        resolve();
      };
      const sleeper = { dueMs: this.#elapsedMs + Math.max(0, ms), wake };
      signal?.addEventListener("abort", abort, { once: true });
      this.#sleepers.push(sleeper);
    });
  }

  /** How many sleeps wait for their moment. */
  get pendingSleeps(): number {
    return this.#sleepers.length;
  }

  /**
   * Moves time forward by `ms`, waking each sleeper at its own moment, earliest first, those of one moment
   * in the order in which they began. What a sleeper does in reply is done before the next one wakes; when it
   * sleeps again within the span, it is woken again.
   */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#elapsedMs + ms;
    await settle();
    for (let next = this.#nextDue(untilMs); next; next = this.#nextDue(untilMs)) {
      this.#elapsedMs = next.dueMs;
      this.#remove(next);
      next.wake();
      await settle();
    }
    this.#elapsedMs = untilMs;
  }

  #nextDue(untilMs: number): Sleeper | undefined {
    let next: Sleeper | undefined;
    for (const sleeper of this.#sleepers) {
      if (sleeper.dueMs <= untilMs && (!next || sleeper.dueMs < next.dueMs)) next = sleeper;
    }
    return next;
  }

  #remove(sleeper: Sleeper): void {
    const index = this.#sleepers.indexOf(sleeper);
    if (index >= 0) this.#sleepers.splice(index, 1);
  }
}
