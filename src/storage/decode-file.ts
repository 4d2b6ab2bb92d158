import { crc32 } from "node:zlib";
import { ByteReader } from "./byte-reader.ts";
import { CorruptBatchError } from "./corrupt-batch-error.ts";
import {
  type BlockHeader,
  blockCrc,
  blockHeaderBytes,
  decodeBlockHeader,
  decodeHeader,
  decodeTrailer,
  type FileHeader,
  type FileTrailer,
  fileCrcOf,
  fileRawBytesMax,
  headerLength,
  headerMismatch,
  headerPrefixBytes,
  hex,
  isTrailer,
  type Mismatch,
  trailerBytes,
} from "./file-format.ts";
import type { StoredBytes } from "./storage-driver.ts";

/** What a file says about itself. */
export interface FileSummary {
  readonly header: FileHeader;
  readonly trailer: FileTrailer;
}

/** One record of a file and its place in it, counted from 0. */
export interface BatchRecord {
  readonly position: number;
  readonly bytes: Uint8Array;
}

/**
 * Reads a whole file once and checks every byte of it: magic, version, each block's bounds and checksum,
 * the sums in the trailer, the checksum of everything, and that nothing follows. Holds one block at a
 * time. Only a file that passed may be read by {@link recordsOf}.
 *
 * @throws CorruptBatchError with the first offset at which something is wrong
 */
export async function verifyFile(key: string, source: StoredBytes): Promise<FileSummary> {
  await using reader = new ByteReader(key, source.stream());
  const { header, bytes } = await readHeader(key, reader);
  let [crc, records, rawBytes] = [crc32(bytes), 0, 0];
  for (;;) {
    const at = reader.offset;
    const marker = (await reader.take(1))[0];
    if (isTrailer(marker)) {
      const trailerAs = withMarker(marker, await reader.take(trailerBytes - 1));
      const trailer = checked(key, at, decodeTrailer(trailerAs));
      const actual = {
        ...trailer,
        records,
        rawBytes,
        fileBytes: source.size,
        fileCrc: fileCrcOf(trailerAs, crc),
      };
      compareTrailer(key, at, trailer, actual);
      if (!(await reader.atEnd()))
        throw damage(key, reader.offset, { expected: "the end", found: "more bytes" });
      return { header, trailer };
    }
    const block = await readBlock(key, reader, marker);
    crc = crc32(block.payload, crc32(block.headerBytes, crc));
    records += block.records;
    rawBytes += block.rawBytes;
    if (rawBytes > fileRawBytesMax) {
      const expected = `at most ${fileRawBytesMax} bytes, uncompressed`;
      throw damage(key, at, { expected, found: `${rawBytes} or more` });
    }
  }
}

/** Reads only what a file says about itself, at its two ends: quick, and no proof that the rest is whole. */
export async function readSummary(key: string, source: StoredBytes): Promise<FileSummary> {
  await using start = new ByteReader(key, source.stream());
  const { header } = await readHeader(key, start);
  const at = Math.max(0, source.size - trailerBytes);
  await using end = new ByteReader(key, source.stream(at), at);
  const trailer = checked(key, at, decodeTrailer(await end.take(Math.min(trailerBytes, source.size))));
  compareTrailer(key, at, trailer, { ...trailer, fileBytes: source.size });
  return { header, trailer };
}

/**
 * The records of a file that {@link verifyFile} passed, from a position on; whole blocks before it are
 * skipped without decompressing them. Each block is checked again as it is read, so that a file which
 * changes in between is found out, and is taken apart completely before its first record is handed out.
 *
 * @throws CorruptBatchError
 */
export async function* recordsOf(key: string, source: StoredBytes, from = 0): AsyncGenerator<BatchRecord> {
  await using reader = new ByteReader(key, source.stream());
  const { header } = await readHeader(key, reader);
  for (let position = 0; ; ) {
    const marker = (await reader.take(1))[0];
    if (isTrailer(marker)) return;
    const at = reader.offset - 1;
    const block = await readBlock(key, reader, marker);
    if (position + block.records > from) {
      const raw = await decompress(key, at, header, block);
      const records = checked(key, at, splitRecords(raw, block.records));
      for (let index = Math.max(0, from - position); index < records.length; index++)
        yield { position: position + index, bytes: records[index] as Uint8Array };
    }
    position += block.records;
  }
}

/** A block as it lies in the file; the payload is good until more is read. */
interface ReadBlock extends BlockHeader {
  readonly headerBytes: Buffer;
  readonly payload: Buffer;
}

async function readHeader(key: string, reader: ByteReader): Promise<{ header: FileHeader; bytes: Buffer }> {
  const prefix = Buffer.from(await reader.take(headerPrefixBytes));
  const length = headerLength(prefix);
  if (length === undefined) throw damage(key, 0, headerMismatch(prefix));
  const bytes = Buffer.concat([prefix, await reader.take(length - headerPrefixBytes)]);
  return { header: checked(key, 0, decodeHeader(bytes)), bytes };
}

async function readBlock(key: string, reader: ByteReader, marker: number | undefined): Promise<ReadBlock> {
  const at = reader.offset - 1;
  const headerBytes = withMarker(marker, await reader.take(blockHeaderBytes - 1));
  const block = checked(key, at, decodeBlockHeader(headerBytes));
  const payload = await reader.take(block.storedBytes);
  const crc = blockCrc(headerBytes, payload);
  if (crc !== block.crc) {
    const expected = `checksum ${hex(block.crc)} of the block of ${block.storedBytes} bytes`;
    throw damage(key, at, { expected, found: hex(crc) });
  }
  return { ...block, headerBytes, payload };
}

function withMarker(marker: number | undefined, rest: Buffer): Buffer {
  return Buffer.concat([Buffer.of(marker ?? 0), rest]);
}

async function decompress(key: string, at: number, header: FileHeader, block: ReadBlock): Promise<Buffer> {
  const expected = `${block.rawBytes} bytes in a block compressed with ${header.codec.name}`;
  const raw = await header.codec.decompress(block.payload, block.rawBytes).catch((cause: unknown) => {
    const found = cause instanceof Error ? cause.message : String(cause);
    throw new CorruptBatchError({ key, offset: at, expected, found, cause });
  });
  if (raw.length !== block.rawBytes) throw damage(key, at, { expected, found: `${raw.length} bytes` });
  return raw;
}

function splitRecords(raw: Buffer, count: number): Uint8Array[] | Mismatch {
  const records: Uint8Array[] = [];
  let at = 0;
  while (at < raw.length && records.length < count) {
    let [length, shift, byte] = [0, 0, 0x80];
    while (byte > 0x7f && shift < 35 && at < raw.length) {
      byte = raw[at++] as number;
      length += (byte & 0x7f) * 2 ** shift;
      shift += 7;
    }
    if (byte > 0x7f || at + length > raw.length) break;
    records.push(raw.subarray(at, at + length));
    at += length;
  }
  return records.length === count && at === raw.length
    ? records
    : { expected: `${count} records in ${raw.length} bytes`, found: `${records.length} in ${at}` };
}

function compareTrailer(key: string, at: number, trailer: FileTrailer, actual: FileTrailer): void {
  for (const field of ["fileBytes", "records", "rawBytes", "fileCrc"] as const) {
    if (trailer[field] === actual[field]) continue;
    throw damage(key, at, { expected: `${field} ${trailer[field]}`, found: String(actual[field]) });
  }
}

function checked<T extends object>(key: string, offset: number, result: T | Mismatch): T {
  if ("expected" in result && "found" in result) throw damage(key, offset, result);
  return result as T;
}

function damage(key: string, offset: number, mismatch: Mismatch): CorruptBatchError {
  return new CorruptBatchError({ key, offset, ...mismatch });
}
