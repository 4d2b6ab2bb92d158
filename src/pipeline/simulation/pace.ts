import type { Clock } from "../../runtime/index.ts";

/** Ticks that may be made up for at once after a delay: so many milliseconds' worth. */
const catchUpMs = 100;

/** Keeps a simulation from running faster than asked for. */
export class Pace {
  readonly #ticksPerMs: number;
  readonly #clock: Clock;
  #ticks = 0;
  #startMs = 0;

  constructor(ticksPerSecondMax: number | undefined, clock: Clock) {
    this.#ticksPerMs = (ticksPerSecondMax ?? Number.POSITIVE_INFINITY) / 1_000;
    this.#clock = clock;
  }

  /** Time begins now: a pause is not made up for. */
  restart(): void {
    this.#startMs = this.#clock.monotonicMs();
    this.#ticks = 0;
  }

  /** How many ticks may be simulated now; at least one, since {@link wait} comes after them. */
  ticksDue(): number {
    if (this.#ticksPerMs === Number.POSITIVE_INFINITY) return this.#ticksPerMs;
    const behindMs = this.#clock.monotonicMs() - this.#dueMs();
    if (behindMs > catchUpMs) this.#startMs += behindMs - catchUpMs;
    return Math.max(1, Math.floor(Math.min(behindMs, catchUpMs) * this.#ticksPerMs));
  }

  /** Waits until the next tick after these is due. */
  async wait(ticks: number, signal: AbortSignal): Promise<void> {
    this.#ticks += ticks;
    const earlyMs = this.#dueMs() - this.#clock.monotonicMs();
    if (earlyMs > 0) await this.#clock.sleep(earlyMs, signal);
  }

  /** When the next tick is due. */
  #dueMs(): number {
    return this.#startMs + this.#ticks / this.#ticksPerMs;
  }
}
