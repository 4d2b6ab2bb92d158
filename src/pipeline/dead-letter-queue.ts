import { type DeadLetterMessage, DeadLetterMessageSchema } from "../contracts/index.ts";
import type { Transaction } from "../database/index.ts";
import { type GivenOptions, required, resolveOptions } from "../runtime/index.ts";
import {
  type DeadLetterOptions,
  type DeadLetterOriginal,
  deadLetterOf,
  type Topics,
  type TopicWriter,
} from "../topics/index.ts";
import type { DeadLetterRoom } from "./components/dlq-component.ts";

/** Settings of a dead-letter queue. */
export interface DeadLetterQueueOptions {
  /** The topic that holds the letters: the `deadLetterTopic` of the readers that use this queue. */
  readonly topic: string;
  /** Letters that it may hold: beyond, files are tried again instead of being given up. Default 10,000. */
  readonly capacity: number;
}

/**
 * The room for what can't be processed: a topic of DeadLetterMessages with a bound. Announcements get
 * there through their reader; files that came without one through {@link put}.
 *
 * @example
 * ```ts
 * const deadLetters = await DeadLetterQueue.open(topics, { topic: "batch-topic-dead-letters" });
 * const indexer = new EnvironmentIndexer("environment", { storage, database, topic, deadLetters });
 * ```
 */
export class DeadLetterQueue implements DeadLetterRoom, AsyncDisposable {
  readonly capacity: number;
  readonly topic: string;
  /** Writes letters without looking at the capacity. */
  readonly writer: TopicWriter<DeadLetterMessage>;
  readonly #topics: Topics;

  private constructor(topics: Topics, writer: TopicWriter<DeadLetterMessage>, capacity: number) {
    this.#topics = topics;
    this.writer = writer;
    this.capacity = capacity;
    this.topic = writer.topic;
  }

  /** Opens the queue; the topic is made when it is new. */
  static async open(topics: Topics, options: GivenOptions<DeadLetterQueueOptions>): Promise<DeadLetterQueue> {
    const { topic, capacity } = resolveOptions<DeadLetterQueueOptions>(
      { topic: required, capacity: 10_000 },
      options,
    );
    return new DeadLetterQueue(topics, await topics.writer(DeadLetterMessageSchema, { topic }), capacity);
  }

  async count(): Promise<number> {
    const all = await this.#topics.listTopics();
    return all.find(({ name }) => name === this.topic)?.messages ?? 0;
  }

  /** Stores a letter about something that had no message of its own, in the transaction where the topic can. */
  async put(original: DeadLetterOriginal, options: DeadLetterOptions, tx: Transaction): Promise<void> {
    const isShared = this.#topics.capabilities.transactionalAck;
    await this.writer.send(deadLetterOf(original, options), isShared ? { tx } : {});
  }

  /** Closes the writer. */
  close(): Promise<void> {
    return this.writer.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
