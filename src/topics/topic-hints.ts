import type { Database, Transaction } from "../database/index.ts";
import { logger, sleep } from "../runtime/index.ts";
import { sendHint, topicChannel } from "./sql/hint.ts";

const log = logger("topics.hints");

/** Between two hints for a topic under load: readers at work look again by themselves. */
const restMs = 10;

/**
 * Hints that a topic has something, sent and received. Only hints: readers poll as well, so a lost one
 * costs at most a poll interval. Many hints for one topic become few: the first goes out at once, and all that
 * come while it is on its way, or soon after, count as one more.
 */
export class TopicHints {
  readonly #database: Database;
  readonly #sending = new Map<number, Promise<void>>();
  readonly #again = new Set<number>();

  constructor(database: Database) {
    this.#database = database;
  }

  /** Calls the handler for a hint on this topic, and after a reconnect, until the returned function is called. */
  subscribe(topicId: number, handler: () => void): () => void {
    const mine = this.#payload(topicId);
    return this.#database.listener.subscribe(topicChannel, (payload) => {
      if (payload === "" || payload === mine) handler();
    });
  }

  /** Sends a hint after a commit; returns at once. */
  notify(topicId: number): void {
    if (this.#sending.has(topicId)) {
      this.#again.add(topicId);
      return;
    }
    this.#sending.set(topicId, this.#send(topicId));
  }

  /** The hint goes out when the caller's transaction commits. */
  notifyWith(tx: Transaction, topicId: number): Promise<void> {
    return sendHint(tx, this.#payload(topicId));
  }

  /** Waits for what is on its way. */
  async close(): Promise<void> {
    await Promise.all(this.#sending.values());
  }

  async #send(topicId: number): Promise<void> {
    try {
      do {
        this.#again.delete(topicId);
        await sendHint(this.#database, this.#payload(topicId));
        await sleep(restMs);
      } while (this.#again.has(topicId));
    } catch (error) {
      log.debug("Hint not sent, readers poll", { reason: String(error) });
    } finally {
      this.#again.delete(topicId);
      this.#sending.delete(topicId);
    }
  }

  /** Several Tallymans may share a database, each in a schema of its own. */
  #payload(topicId: number): string {
    return `${this.#database.names.schema}:${topicId}`;
  }
}
