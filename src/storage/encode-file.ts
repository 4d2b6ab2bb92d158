import { crc32 } from "node:zlib";
import { TallymanError } from "../errors/index.ts";
import {
  blockBytes,
  encodeBlockHeader,
  encodeHeader,
  encodeTrailer,
  type FileHeader,
  type FileTrailer,
  fileCrcOf,
  fileRawBytesMax,
  recordBytesMax,
  trailerBytes,
} from "./file-format.ts";

/** Records as a writer takes them: all at once, or as they come. */
export type Records<T> = Iterable<T> | AsyncIterable<T>;

const lengthPrefixBytesMax = 5;

/**
 * Turns records into the bytes of a file, block by block, so that a file of any size passes through a
 * few hundred kilobytes of memory. A record is copied at once: the caller may reuse its buffer.
 */
export class FileEncoder {
  readonly #header: FileHeader;
  readonly #records: Records<Uint8Array>;
  #crc = 0;
  #bytes = 0;
  #trailer: FileTrailer | undefined;

  constructor(header: FileHeader, records: Records<Uint8Array>) {
    this.#header = header;
    this.#records = records;
  }

  /** What the file says at its end; known when {@link chunks} has ended. */
  get trailer(): FileTrailer {
    if (!this.#trailer) throw new TallymanError("INVALID_STATE", "The file is not encoded to its end yet.");
    return this.#trailer;
  }

  /** The file's bytes, in order. To be consumed once. */
  async *chunks(): AsyncGenerator<Buffer> {
    yield this.#counted(encodeHeader(this.#header));
    let [records, rawBytes, contentCrc] = [0, 0, 0];
    for await (const block of blocksOf(this.#records)) {
      records += block.records;
      rawBytes += block.raw.length;
      refuseLargeFile(rawBytes);
      contentCrc = crc32(block.raw, contentCrc);
      const payload = await this.#header.codec.compress(block.raw);
      const sizes = { records: block.records, rawBytes: block.raw.length, storedBytes: payload.length };
      yield this.#counted(encodeBlockHeader(sizes, payload));
      yield this.#counted(payload);
    }
    const fileBytes = this.#bytes + trailerBytes;
    const trailer = encodeTrailer({ records, rawBytes, contentCrc, fileBytes }, this.#crc);
    this.#trailer = { records, rawBytes, contentCrc, fileBytes, fileCrc: fileCrcOf(trailer, this.#crc) };
    yield trailer;
  }

  #counted(bytes: Buffer): Buffer {
    this.#crc = crc32(bytes, this.#crc);
    this.#bytes += bytes.length;
    return bytes;
  }
}

/** Length-delimited records, gathered until a block is full. */
async function* blocksOf(records: Records<Uint8Array>): AsyncGenerator<{ records: number; raw: Buffer }> {
  let [buffer, used, count] = [Buffer.allocUnsafe(blockBytes), 0, 0];
  for await (const record of records) {
    refuseLarge(record.length);
    const needed = used + lengthPrefixBytesMax + record.length;
    if (needed > buffer.length) buffer = Buffer.concat([buffer.subarray(0, used)], needed);
    used = writeVarint(buffer, used, record.length);
    buffer.set(record, used);
    used += record.length;
    count++;
    if (used + lengthPrefixBytesMax < blockBytes) continue;
    yield { records: count, raw: buffer.subarray(0, used) };
    [buffer, used, count] = [Buffer.allocUnsafe(blockBytes), 0, 0];
  }
  if (count > 0) yield { records: count, raw: buffer.subarray(0, used) };
}

function writeVarint(buffer: Buffer, at: number, value: number): number {
  let [offset, rest] = [at, value];
  while (rest > 0x7f) {
    buffer[offset++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  buffer[offset++] = rest;
  return offset;
}

function refuseLargeFile(rawBytes: number): void {
  if (rawBytes <= fileRawBytesMax) return;
  throw new TallymanError(
    "STORAGE_FILE_TOO_LARGE",
    `The records are more than the ${fileRawBytesMax} bytes that a reader accepts in one file. Write smaller batches.`,
    { details: { fileRawBytesMax } },
  );
}

function refuseLarge(bytes: number): void {
  if (bytes <= recordBytesMax) return;
  throw new TallymanError(
    "STORAGE_FILE_TOO_LARGE",
    `A record of ${bytes} bytes is larger than the ${recordBytesMax} that a reader accepts. Split it.`,
    { details: { bytes, recordBytesMax } },
  );
}
