import { TallymanError } from "../errors/index.ts";

/** The sliding window's length when the configuration says nothing (`metricsWindowSeconds`). */
export const metricsWindowSecondsDefault = 5;

/** A window moves in this many steps, whatever its length, so that cost and memory do not depend on it. */
export const slotCount = 5;

/**
 * The time side of a sliding window: a ring of slots, the present one growing, the oldest one falling out.
 * The owner keeps the values, and empties a slot when told. Because every slot passed is emptied before
 * anything is read, what the owner holds is always exactly what lies inside the window. Time comes from
 * the owner, on a clock that starts at zero or above and never runs backwards.
 */
export class SlidingSlots {
  readonly #slotMs: number;
  readonly #empty: (slot: number) => void;
  #step = 0;

  constructor(windowSeconds: number, empty: (slot: number) => void) {
    if (!(windowSeconds > 0 && windowSeconds < Number.POSITIVE_INFINITY)) {
      throw new TallymanError(
        "INVALID_OPTION",
        `metricsWindowSeconds must be a positive number of seconds, not ${windowSeconds}.`,
        { details: { metricsWindowSeconds: windowSeconds } },
      );
    }
    this.#slotMs = (windowSeconds * 1000) / slotCount;
    this.#empty = empty;
  }

  /** Empties every slot that left the window since the last call, and returns the present one. */
  advance(nowMs: number): number {
    const step = Math.floor(nowMs / this.#slotMs);
    if (step > this.#step) this.#moveTo(step);
    return this.#step % slotCount;
  }

  /** How much time the slots span at this moment: between four and five fifths of the window. */
  spanSeconds(nowMs: number): number {
    const oldestStep = this.#step - slotCount + 1;
    return (nowMs - oldestStep * this.#slotMs) / 1000;
  }

  #moveTo(step: number): void {
    const passed = Math.min(step - this.#step, slotCount);
    for (let back = 0; back < passed; back++) this.#empty((step - back) % slotCount);
    this.#step = step;
  }
}
