import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { TallymanError } from "../errors/index.ts";
import type { BatchFile } from "./batch-file.ts";
import { CorruptBatchError } from "./corrupt-batch-error.ts";
import { type BatchRecord, recordsOf } from "./decode-file.ts";
import type { StoredBytes } from "./storage-driver.ts";

/** A decoded record and its place in the file, counted from 0. */
export interface BatchMessage<T> {
  readonly position: number;
  readonly message: T;
  /** Its size in the file, uncompressed. */
  readonly bytes: number;
}

/** Makes something of a record's bytes. */
export interface RecordDecoder<T> {
  /** Full name of the message type that it decodes. */
  readonly typeName: string;
  /** Throws for bytes that are no such message. */
  decode(bytes: Uint8Array): T;
}

/**
 * A batch file that was verified from its first byte to its last, open for reading. Records come as a
 * stream, from any position and as often as wanted, through one block of memory. Close it when done.
 *
 * @example
 * ```ts
 * await using batch = await storage.openBatch(key);
 * if (batch.file.crc !== ledger.crc) throw new Error("not the file that was begun");
 * for await (const { position, message } of batch.messages(TickDataSchema, ledger.resumeAt))
 *   console.log(position, message.tickNumber);
 * ```
 */
export class BatchReader implements AsyncDisposable {
  /** The file, with checksum and number of records. */
  readonly file: BatchFile;
  /** Full name of the records' message type; empty when the writer did not say. */
  readonly typeName: string;
  readonly #source: StoredBytes;

  /** @internal */
  constructor(file: BatchFile, typeName: string, source: StoredBytes) {
    this.file = file;
    this.typeName = typeName;
    this.#source = source;
  }

  /**
   * The records as bytes, from a position on. The bytes are views: copy them to keep a few of many.
   *
   * @throws CorruptBatchError when the file was altered while it was read
   */
  records(from = 0): AsyncGenerator<BatchRecord> {
    return recordsOf(this.file.key, this.#source, from);
  }

  /**
   * The records as messages, from a position on.
   *
   * @throws CorruptBatchError for a record that is no such message; TallymanError BATCH_INVALID for a
   * file whose records are of another type
   */
  messages<S extends DescMessage>(schema: S, from = 0): AsyncGenerator<BatchMessage<MessageShape<S>>> {
    return this.decoded(messageDecoder(schema), from);
  }

  /**
   * The records as whatever `decoder` makes of them, from a position on.
   *
   * @throws as {@link messages}
   */
  async *decoded<T>(decoder: RecordDecoder<T>, from = 0): AsyncGenerator<BatchMessage<T>> {
    refuseOtherType(this.file.key, this.typeName, decoder.typeName);
    for await (const { position, bytes } of this.records(from))
      yield {
        position,
        message: decodeRecord(this.file.key, decoder, bytes, position),
        bytes: bytes.length,
      };
  }

  /** Releases the file. Safe to call twice. */
  close(): Promise<void> {
    return this.#source.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** Decodes records as protobuf-es does. */
export function messageDecoder<S extends DescMessage>(schema: S): RecordDecoder<MessageShape<S>> {
  return { typeName: schema.typeName, decode: (bytes) => fromBinary(schema, bytes) };
}

/** Decodes one record; whatever the decoder throws becomes a {@link CorruptBatchError}. */
export function decodeRecord<T>(
  key: string,
  decoder: RecordDecoder<T>,
  bytes: Uint8Array,
  position: number,
): T {
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    const found = cause instanceof Error ? cause.message : String(cause);
    throw new CorruptBatchError({
      key,
      offset: 0,
      expected: `a ${decoder.typeName} as record ${position}`,
      found,
      cause,
    });
  }
}

/** @throws TallymanError BATCH_INVALID */
export function refuseOtherType(key: string, stored: string, wanted: string): void {
  if (stored === "" || stored === wanted) return;
  throw new TallymanError("BATCH_INVALID", `${key} holds records of type ${stored}, not ${wanted}.`, {
    details: { key, stored, wanted },
  });
}
