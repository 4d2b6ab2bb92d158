import type { CallerClient, Database, Transaction } from "../database/index.ts";
import { type Clock, isAbort, systemClock, WakeUp } from "../runtime/index.ts";
import type { Hints } from "./hints.ts";
import { acknowledgeReplies, giveBackReplies, type ReplyRow, receiveReplies } from "./sql/reply.ts";

const pollIntervalMs = 1_000;
const hideMsDefault = 30_000;
const pageDefault = 100;
/** A page that is not read by then is taken anew, so that a loop's body has as long again before another reader gets its reply. */
const pageMsMax = hideMsDefault / 2;

/** What became of a command that asked for a reply. */
export type Reply = ReplyRow;

/**
 * The replies of one queue, oldest first. A reply is hidden from other readers while one has it, and removed
 * when it is acknowledged; a reader that dies leaves it to the next after half a minute. Any number of readers.
 *
 * @example
 * ```ts
 * for await (const reply of bus.replies("orders-replies")) console.log(reply.correlationId, reply.outcome);
 * ```
 */
export class ReplyQueue {
  readonly queue: string;
  readonly #database: Database;
  readonly #hints: Hints;
  readonly #clock: Clock;

  /** @internal */
  constructor(database: Database, hints: Hints, queue: string, clock: Clock = systemClock) {
    this.#database = database;
    this.#hints = hints;
    this.#clock = clock;
    this.queue = queue;
  }

  /** Takes up to `limit` replies (default 100) that are there now, and hides them for `hideMs` (default 30 s). */
  receive({ limit = pageDefault, hideMs = hideMsDefault } = {}): Promise<Reply[]> {
    return receiveReplies(this.#database, this.queue, limit, hideMs);
  }

  /** Removes replies; with `tx`, together with what the caller made of them. Returns how many were still ours. */
  acknowledge(
    replies: readonly Pick<Reply, "replyId" | "deliveryCount">[],
    { tx }: { tx?: Transaction | CallerClient } = {},
  ): Promise<number> {
    return acknowledgeReplies(tx ? this.#database.join(tx) : this.#database, replies);
  }

  /**
   * Replies as they come, until the signal is aborted. Each is acknowledged when the loop asks for the next;
   * one whose loop body throws or breaks comes again.
   */
  async *stream(signal?: AbortSignal): AsyncGenerator<Reply> {
    const wakeUp = new WakeUp();
    const unsubscribe = this.#database.listener.subscribe(this.#hints.replyChannel, (queue) => {
      if (queue === "" || queue === this.queue) wakeUp.notify();
    });
    try {
      while (!signal?.aborted) {
        const sentMs = this.#clock.monotonicMs();
        const replies = await this.receive();
        for (const [index, reply] of replies.entries()) {
          if (this.#clock.monotonicMs() - sentMs > pageMsMax) {
            await giveBackReplies(this.#database, replies.slice(index));
            break;
          }
          yield reply;
          await this.acknowledge([reply]);
        }
        if (replies.length === 0) await wakeUp.wait(pollIntervalMs, signal);
      }
    } catch (error) {
      if (!signal?.aborted || !isAbort(error)) throw error;
    } finally {
      unsubscribe();
    }
  }

  [Symbol.asyncIterator](): AsyncGenerator<Reply> {
    return this.stream();
  }
}
