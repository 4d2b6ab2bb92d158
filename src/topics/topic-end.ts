import { closed } from "./topic-errors.ts";

/** What readers and writers have in common: an end. */
export abstract class TopicEnd implements AsyncDisposable {
  readonly topic: string;
  readonly #what: string;
  #isClosed = false;
  #onClosed: (() => void) | undefined;

  /** @param what names this end in messages */
  constructor(topic: string, what: string) {
    this.topic = topic;
    this.#what = what;
  }

  isHealthy(): boolean {
    return !this.#isClosed;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#onClosed?.();
  }

  /** Calls the handler when this is closed. */
  whenClosed(handler: () => void): void {
    this.#onClosed = handler;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  protected refuseClosed(): void {
    if (this.#isClosed) throw closed(this.#what);
  }
}
