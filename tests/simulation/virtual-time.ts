import { setImmediate as settle } from "node:timers/promises";
import { abortedError, type Clock } from "../../src/runtime/index.ts";

interface Event {
  readonly atMs: number;
  readonly order: number;
  readonly process: VirtualProcess | undefined;
  readonly run: () => void;
}

/** True time, which is the database's, and everything that happens in it, in one order. */
export class VirtualTime {
  nowMs = 0;
  #events: Event[] = [];
  #order = 0;

  /** Runs something later, on behalf of a process: not while that is paused, and never once it is dead. */
  after(ms: number, run: () => void, process?: VirtualProcess): void {
    this.#add({ atMs: this.nowMs + Math.max(0, ms), order: this.#order++, process, run });
  }

  /** Lets everything happen until `untilMs`; `watch` sees each moment after what happened in it. */
  async runUntil(untilMs: number, watch: () => void): Promise<void> {
    for (let event = this.#events[0]; event && event.atMs <= untilMs; event = this.#events[0]) {
      this.#events.shift();
      this.nowMs = event.atMs;
      if (event.process && !event.process.isAlive) continue;
      if (event.process && event.process.pausedUntilMs > this.nowMs) {
        this.#add({ ...event, atMs: event.process.pausedUntilMs });
        continue;
      }
      event.run();
      await settle();
      watch();
    }
    this.nowMs = untilMs;
  }

  /** Sorted by time, then by the order of adding: replays are exact. */
  #add(event: Event): void {
    let [low, high] = [0, this.#events.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = this.#events[middle];
      const isLater =
        other && (other.atMs > event.atMs || (other.atMs === event.atMs && other.order > event.order));
      if (isLater) high = middle;
      else low = middle + 1;
    }
    this.#events.splice(low, 0, event);
  }
}

/** One process: a clock of its own rate, pauses (SIGSTOP: its clock goes on, it does not), and death. */
export class VirtualProcess implements Clock {
  isAlive = true;
  pausedUntilMs = 0;
  readonly #time: VirtualTime;
  readonly #rate: number;
  readonly #startMs: number;

  /** @param rate seconds of this clock in a true second */
  constructor(time: VirtualTime, rate: number) {
    this.#time = time;
    this.#rate = rate;
    this.#startMs = time.nowMs;
  }

  now(): number {
    return this.monotonicMs() + 86_400_000;
  }

  monotonicMs(): number {
    return (this.#time.nowMs - this.#startMs) * this.#rate;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(abortedError(signal));
      signal?.addEventListener("abort", () => reject(abortedError(signal)), { once: true });
      this.#time.after(ms / this.#rate, resolve, this);
    });
  }
}
