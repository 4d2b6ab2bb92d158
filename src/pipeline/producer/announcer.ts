import type { Message } from "@bufbuild/protobuf";
import { toTallymanError } from "../../errors/index.ts";
import { Counter, type ErrorLog } from "../../monitoring/index.ts";
import { type BackoffOptions, backoffMs, type Clock, logger } from "../../runtime/index.ts";
import type { TopicWriter } from "../../topics/index.ts";

/** A file that is to be announced. */
export interface Announcement<M> {
  readonly runId: string;
  readonly message: M;
  /** Announcing twice under one key counts once. */
  readonly key: string;
}

/** What an announcer works with. */
export interface AnnouncerOptions<M extends Message> {
  /** Name of the service, in the log. */
  readonly service: string;
  /** Undefined: nothing is announced, and the log says so once. */
  readonly topic: TopicWriter<M> | undefined;
  readonly backoff: BackoffOptions;
  readonly errors: ErrorLog;
  readonly clock: Clock;
}

/** Announcements that wait for a topic which fails; beyond, the oldest is left to the sweep. */
const pendingMax = 10_000;

/**
 * Announces files in their order, and again while the topic fails: the file is safe already, so a topic that is
 * down holds up no writing. Belongs to one service; not for concurrent use.
 */
export class Announcer<M extends Message> {
  readonly #options: AnnouncerOptions<M>;
  readonly #pending: Announcement<M>[] = [];
  readonly sent = new Counter();
  readonly failed = new Counter();
  #attempt = 0;
  #dueMs = 0;
  #hasWarned = false;

  constructor(options: AnnouncerOptions<M>) {
    this.#options = options;
  }

  /** How many wait. */
  get pending(): number {
    return this.#pending.length;
  }

  /** When {@link retryDue} has something to do; Infinity when nothing waits. */
  get dueInMs(): number {
    if (this.#pending.length === 0) return Number.POSITIVE_INFINITY;
    return Math.max(0, this.#dueMs - this.#options.clock.monotonicMs());
  }

  /** Announces a file, after those that wait. Never throws: what fails is kept and tried again. */
  async announce(announcement: Announcement<M>): Promise<void> {
    if (!this.#options.topic) return this.#warnOnce();
    this.#pending.push(announcement);
    if (this.#pending.length > pendingMax) this.#pending.shift();
    await this.retryDue();
  }

  /** Tries again what failed, when its time has come. */
  async retryDue(): Promise<void> {
    while (this.dueInMs === 0) await this.#trySend();
  }

  /** A last try at the end; what fails now is found by the sweep. */
  async flush(): Promise<void> {
    this.#dueMs = 0;
    await this.retryDue();
    if (this.#pending.length === 0) return;
    const { service } = this.#options;
    const [first] = this.#pending;
    logger(service).warn(
      `Could not announce ${this.#pending.length} file(s), the first is ${first?.key}: they are written, and an indexer's sweep finds them.`,
    );
  }

  async #trySend(): Promise<void> {
    const { topic, backoff, clock } = this.#options;
    const [next] = this.#pending;
    if (!next || !topic) return;
    try {
      // The run is a state of the writer, which services share: set it in the same breath.
      topic.setSimulationRun(next.runId);
      await topic.send(next.message, { key: next.key });
      this.#pending.shift();
      this.sent.increment();
      this.#attempt = 0;
    } catch (error) {
      this.#dueMs = clock.monotonicMs() + Math.max(1, backoffMs(++this.#attempt, backoff));
      this.#noteFailure(next, error);
    }
  }

  #noteFailure({ key }: Announcement<M>, error: unknown): void {
    this.failed.increment();
    this.#options.errors.add({
      code: "TOPIC_SEND_FAILED",
      message: "Failed to announce a file",
      details: `Key: ${key}, Error: ${toTallymanError(error).message}`,
    });
  }

  #warnOnce(): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    logger(this.#options.service).warn(
      "No topic is bound: files are written but not announced. Only indexers that search the storage find them.",
    );
  }
}
