/**
 * Which numbers of a grid (0, step, 2 × step, …) are in a set, kept as ranges: neighbours cost nothing, so a
 * run of a million ticks is one range. Numbers off the grid are never in it.
 */
export class SequenceSet {
  readonly #step: number;
  /** First and last numbers of the ranges, ascending; ranges neither touch nor overlap. */
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];

  constructor(step: number) {
    this.#step = step;
  }

  /** How many ranges the set consists of. */
  get ranges(): number {
    return this.#starts.length;
  }

  has(value: number): boolean {
    return this.#isOnGrid(value) && value <= (this.#ends[this.#rangeBefore(value)] ?? -1);
  }

  /** True when the number was not there; always true, and nothing kept, for a number off the grid. */
  add(value: number): boolean {
    if (!this.#isOnGrid(value)) return true;
    if (this.has(value)) return false;
    this.addRange(value, value);
    return true;
  }

  /** Adds the numbers of the grid from `start` to `end`, both included. */
  addRange(start: number, end: number): void {
    const first = Math.ceil(start / this.#step) * this.#step;
    const last = Math.floor(end / this.#step) * this.#step;
    if (first > last) return;
    // Ranges from `from` to `to` touch the new one, and become one with it.
    let from = this.#rangeBefore(first);
    if (from < 0 || (this.#ends[from] ?? 0) + this.#step < first) from++;
    const to = this.#rangeBefore(last + this.#step);
    const joinedStart = Math.min(first, this.#starts[from] ?? first);
    const joinedEnd = Math.max(last, to < from ? last : (this.#ends[to] ?? last));
    this.#starts.splice(from, to - from + 1, to < from ? first : joinedStart);
    this.#ends.splice(from, to - from + 1, joinedEnd);
  }

  delete(value: number): void {
    if (!this.has(value)) return;
    const at = this.#rangeBefore(value);
    const start = this.#starts[at] ?? value;
    const end = this.#ends[at] ?? value;
    const parts = [
      { start, end: value - this.#step },
      { start: value + this.#step, end },
    ].filter((part) => part.start <= part.end);
    this.#starts.splice(at, 1, ...parts.map((part) => part.start));
    this.#ends.splice(at, 1, ...parts.map((part) => part.end));
  }

  #isOnGrid(value: number): boolean {
    return Number.isSafeInteger(value) && value >= 0 && value % this.#step === 0;
  }

  /** Index of the last range that starts at or before a number; -1 when there is none. */
  #rangeBefore(value: number): number {
    let low = 0;
    let high = this.#starts.length;
    // Sequences mostly grow: look at the last range first.
    if ((this.#starts[high - 1] ?? Number.POSITIVE_INFINITY) <= value) return high - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#starts[middle] ?? 0) <= value) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}
