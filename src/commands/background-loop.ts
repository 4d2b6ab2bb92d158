import type { Clock } from "../runtime/index.ts";

/** What a worker does beside its claims, again and again until it is stopped. */
export class BackgroundLoop {
  readonly #stopping = new AbortController();
  readonly #ended: Promise<void>;

  /** @param turn begun every `intervalMs`, or when the one before has ended; must not throw, and ends soon after its signal */
  constructor(clock: Clock, intervalMs: number, turn: (signal: AbortSignal) => Promise<void>) {
    this.#ended = this.#run(clock, intervalMs, turn);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#ended;
  }

  async #run(clock: Clock, intervalMs: number, turn: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const pause = clock.sleep(intervalMs, signal).catch(() => undefined);
      await turn(signal);
      await pause;
    }
  }
}
