import type { VirtualProcess, VirtualTime } from "./virtual-time.ts";

/** How bad the connections to the database are; each share from 0 to 1. */
export interface Weather {
  /** Requests that never arrive. */
  readonly lostRequests: number;
  /** Answers that never arrive: what was asked for is done all the same. */
  readonly lostAnswers: number;
  /** Requests that are carried out a second time, later. */
  readonly duplicates: number;
  /** Requests or answers that take up to `longMs`. */
  readonly slow: number;
  readonly longMs: number;
}

export const goodWeather: Weather = { lostRequests: 0, lostAnswers: 0, duplicates: 0, slow: 0, longMs: 0 };
export const badWeather: Weather = {
  lostRequests: 0.05,
  lostAnswers: 0.05,
  duplicates: 0.05,
  slow: 0.05,
  longMs: 25_000,
};

const usualMs = 20;

/** The connections between processes and the database. */
export class Network {
  weather: Weather = goodWeather;
  readonly #time: VirtualTime;
  readonly #random: () => number;

  constructor(time: VirtualTime, random: () => number) {
    this.#time = time;
    this.#random = random;
  }

  /** Has the database do something; the caller hears of it, or of a lost connection, later. */
  call<T>(caller: VirtualProcess, statement: () => T): Promise<T> {
    const { lostRequests, lostAnswers, duplicates } = this.weather;
    return new Promise((resolve, reject) => {
      const tell = (answer: () => void) => this.#time.after(this.#delay(), answer, caller);
      const lost = () => tell(() => reject(new Error("The connection was lost")));
      if (this.#chance(lostRequests)) return lost();
      // The database runs what has arrived, whether the caller is paused, dead or neither.
      this.#time.after(this.#delay(), () => {
        const answer = statement();
        if (this.#chance(lostAnswers)) lost();
        else tell(() => resolve(answer));
      });
      if (this.#chance(duplicates)) this.#time.after(this.#delay() + this.#delay(), statement);
    });
  }

  #chance(share: number): boolean {
    return share > 0 && this.#random() < share;
  }

  #delay(): number {
    const { slow, longMs } = this.weather;
    return 1 + this.#random() * (this.#chance(slow) ? longMs : usualMs);
  }
}
