import { type Deferred, deferred } from "../runtime/index.ts";

/** Lets a fixed number of pieces of work run at the same time; the others wait their turn. */
export class Semaphore {
  readonly #waiting: Deferred<void>[] = [];
  #free: number;

  constructor(permits: number) {
    this.#free = permits;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    await this.#acquire();
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next.resolve();
      else this.#free++;
    }
  }

  async #acquire(): Promise<void> {
    if (this.#free > 0) {
      this.#free--;
      return;
    }
    const turn = deferred();
    this.#waiting.push(turn);
    await turn.promise;
  }
}
