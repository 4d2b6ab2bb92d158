import { crc32 } from "node:zlib";
import type { DeadLetterMessage } from "../../contracts/index.ts";
import { Counter, type ErrorLog } from "../../monitoring/index.ts";
import { logger } from "../../runtime/index.ts";
import { deadLetterOf, type TopicWriter } from "../../topics/index.ts";
import type { PersistedKind } from "./batch-persistence.ts";

/** Why records are given up. */
export interface GivenUp {
  /** The run that the records belong to. */
  readonly runId: string;
  readonly error: unknown;
  readonly retryCount: number;
}

/** Where a persistence service puts the records that it gives up. */
export class DeadLetterBox<T> {
  readonly sent = new Counter();
  readonly dropped = new Counter();
  readonly #service: string;
  readonly #topic: TopicWriter<DeadLetterMessage> | undefined;
  readonly #kind: PersistedKind<T>;
  readonly #errors: ErrorLog;

  constructor(
    service: string,
    topic: TopicWriter<DeadLetterMessage> | undefined,
    kind: PersistedKind<T>,
    errors: ErrorLog,
  ) {
    this.#service = service;
    this.#topic = topic;
    this.#kind = kind;
    this.#errors = errors;
  }

  get isBound(): boolean {
    return this.#topic !== undefined;
  }

  /** Sends the records with their error; a record that was sent before is not stored again. */
  async send(records: readonly T[], why: GivenUp): Promise<void> {
    const letters = records.map((record) => this.#letterOf(record, why));
    await this.#topic?.sendMany(letters);
    this.sent.increment(records.length);
    for (const record of records) this.#note(record, why.error);
  }

  /** There is no topic for it: the log and the error list are all that remains of a bad record. */
  drop(record: T, error: Error): void {
    this.dropped.increment();
    this.#note(record, error);
    const sequence = this.#kind.sequenceOf(record);
    logger(this.#service).error(
      `Dropped bad tick ${sequence}: ${error.message}. Bind 'deadLetters' to keep such ticks.`,
    );
  }

  #letterOf(record: T, { runId, error, retryCount }: GivenUp) {
    const bytes = this.#bytesOf(record);
    const messageType = this.#kind.format.schema?.typeName ?? "";
    const message = deadLetterOf({ bytes, messageType }, { error, sourceService: this.#service, retryCount });
    // The run as part of the checksum: a bad record's may be too long for a key.
    const checksum = crc32(bytes, crc32(runId));
    return { message, key: `${this.#service}:${this.#kind.sequenceOf(record)}:${checksum}` };
  }

  /** What can't be encoded is kept as text. */
  #bytesOf(record: T): Uint8Array {
    try {
      return this.#kind.format.encode(record);
    } catch {
      const text = JSON.stringify(record, (_, value) => (typeof value === "bigint" ? String(value) : value));
      return Buffer.from(text ?? String(record));
    }
  }

  #note(record: T, error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    this.#errors.add({
      code: "TICK_REJECTED",
      message: "Gave up a tick",
      details: `Tick: ${this.#kind.sequenceOf(record)}, Error: ${reason}`,
    });
  }
}
