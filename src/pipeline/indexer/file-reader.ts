import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { TickDataSchema } from "../../contracts/index.ts";
import {
  type BatchMessage,
  type BatchReader,
  type BatchStorage,
  CorruptBatchError,
} from "../../storage/index.ts";
import { readTicks } from "../ticks/read-ticks.ts";
import type { FileChunk, IndexedFile } from "./indexed-file.ts";

/** How much of a file is decoded at a time. */
export interface ChunkLimits {
  readonly recordsMax: number;
  readonly bytesMax: number;
}

/** A file could not be read: the file's fault, or the storage's. */
export class FileReadError extends Error {
  override readonly name = "FileReadError";
  readonly file: IndexedFile;

  constructor(file: IndexedFile, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.file = file;
  }
}

/** Reads claimed files one after the other, a chunk at a time, so that memory does not grow with a file. */
export class FileReader<Desc extends DescMessage> {
  readonly #storage: BatchStorage;
  readonly #schema: Desc;
  readonly #limits: ChunkLimits;
  #queue: IndexedFile[] = [];
  #current: { file: IndexedFile; chunks: AsyncGenerator<FileChunk<MessageShape<Desc>>> } | undefined;

  constructor(storage: BatchStorage, schema: Desc, limits: ChunkLimits) {
    this.#storage = storage;
    this.#schema = schema;
    this.#limits = limits;
  }

  enqueue(files: readonly IndexedFile[]): void {
    this.#queue.push(...files);
  }

  /** The next chunk of the file at hand, or of the next one; undefined when there is none. @throws FileReadError */
  async next(): Promise<FileChunk<MessageShape<Desc>> | undefined> {
    const current = this.#current ?? this.#open(this.#queue.shift());
    if (!current) return undefined;
    this.#current = current;
    try {
      const { value: chunk } = await current.chunks.next();
      if (!chunk || chunk.isLast) await this.#leave();
      // Dropped while it was read.
      return chunk && this.#isDropped(current, chunk) ? this.next() : chunk;
    } catch (error) {
      await this.#leave();
      throw new FileReadError(current.file, error);
    }
  }

  /** Stops reading a file that is no longer ours. */
  async drop(filename: string): Promise<void> {
    this.#queue = this.#queue.filter((file) => file.filename !== filename);
    if (this.#current?.file.filename === filename) await this.#leave();
  }

  /** Closes what is open; what was queued or half read is for others. */
  async close(): Promise<void> {
    this.#queue = [];
    await this.#leave();
  }

  #open(file: IndexedFile | undefined) {
    return file && { file, chunks: this.#chunksOf(file) };
  }

  #isDropped(read: { file: IndexedFile }, chunk: FileChunk<unknown>): boolean {
    return !chunk.isLast && this.#current?.file !== read.file;
  }

  async #leave(): Promise<void> {
    const current = this.#current;
    this.#current = undefined;
    await current?.chunks.return(undefined);
  }

  /** Ticks have a decoder of their own, several times as fast. */
  #recordsOf(batch: BatchReader, from: number): AsyncIterable<BatchMessage<MessageShape<Desc>>> {
    const isTickData = this.#schema.typeName === TickDataSchema.typeName;
    const records = isTickData ? readTicks(batch, from) : batch.messages(this.#schema, from);
    return records as AsyncIterable<BatchMessage<MessageShape<Desc>>>;
  }

  async *#chunksOf(file: IndexedFile): AsyncGenerator<FileChunk<MessageShape<Desc>>> {
    await using batch = await this.#storage.openBatch(file.storageKey);
    refuseOtherFile(file, batch);
    const { recordsMax, bytesMax } = this.#limits;
    const total = batch.file.records;
    let records: MessageShape<Desc>[] = [];
    let bytes = 0;
    let from = file.resumeAt;
    for await (const record of this.#recordsOf(batch, file.resumeAt)) {
      records.push(record.message);
      bytes += record.bytes;
      const isLast = record.position + 1 === total;
      if (isLast || records.length >= recordsMax || bytes >= bytesMax) {
        yield { file, from, records, bytes, isLast };
        from = record.position + 1;
        records = [];
        bytes = 0;
      }
    }
    if (from >= total && file.resumeAt >= total) yield { file, from, records, bytes, isLast: true };
  }
}

/** A position is worth something only in the file in which it was reached. */
function refuseOtherFile(file: IndexedFile, batch: BatchReader): void {
  if (file.resumeAt === 0 || file.crc === undefined || file.crc === batch.file.crc) return;
  throw new CorruptBatchError({
    key: file.storageKey,
    offset: 0,
    expected: `checksum ${file.crc}, for its first ${file.resumeAt} records are indexed`,
    found: `${batch.file.crc}`,
  });
}
