import type { Database, Executor } from "../database/index.ts";
import { logger } from "../runtime/index.ts";
import { notify } from "./sql/hint.ts";

const log = logger("commands.hints");

/** Room for the longest suffix below PostgreSQL's 63 bytes of a channel's name. */
const schemaLettersMax = 40;

interface Hint {
  readonly channel: string;
  readonly payload: string;
}

/**
 * Tells other processes that there may be something to do. Sent after the commit, for NOTIFY inside of it
 * takes a lock that all committing transactions share; what gathers while one is under way goes in the next.
 * A hint that is lost costs a poll interval.
 */
export class Hints {
  readonly commandChannel: string;
  readonly batchChannel: string;
  readonly replyChannel: string;
  readonly #database: Database;
  readonly #pending = new Map<string, Hint>();
  #sending: Promise<void> | undefined;

  constructor(database: Database) {
    const prefix = database.names.schema.slice(0, schemaLettersMax);
    this.commandChannel = `${prefix}_commands`;
    this.batchChannel = `${prefix}_batches`;
    this.replyChannel = `${prefix}_replies`;
    this.#database = database;
  }

  /** A domain has commands that are ready. */
  commandsReady(domain: string, tx?: Executor): Promise<void> {
    return this.#hint({ channel: this.commandChannel, payload: domain }, tx);
  }

  /** Batches have ended. */
  batchesCompleted(batchIds: readonly string[]): void {
    if (batchIds.length > 0) void this.#hint({ channel: this.batchChannel, payload: "" });
  }

  /** A reply queue has something new. */
  replied(queue: string): void {
    void this.#hint({ channel: this.replyChannel, payload: queue });
  }

  /** Resolves when every hint given before has been sent. */
  async flush(): Promise<void> {
    await this.#sending;
  }

  async #hint(hint: Hint, tx?: Executor): Promise<void> {
    if (tx) return notify(tx, [hint]);
    this.#pending.set(`${hint.channel} ${hint.payload}`, hint);
    this.#sending ??= this.#send();
  }

  async #send(): Promise<void> {
    while (this.#pending.size > 0) {
      const hints = [...this.#pending.values()];
      this.#pending.clear();
      await notify(this.#database, hints).catch((error) =>
        log.debug("A hint was not sent; pollers find out by themselves", { reason: String(error) }),
      );
    }
    this.#sending = undefined;
  }
}
