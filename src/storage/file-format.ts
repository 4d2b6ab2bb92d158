/**
 * The bytes of a file. Numbers are little-endian, except in the magic there are no alignment rules.
 *
 * ```
 * header   magic 8 · version u8 · kind u8 · codec u8 · runIdBytes u8 · typeBytes u8 · tickStart u64
 *          · tickEnd u64 · run id · type name · crc u32 (of the header)
 * block*   'B' u8 · records u32 · rawBytes u32 · storedBytes u32 · crc u32 (of these 13 bytes and the
 *          payload) · payload: length-delimited records, compressed as one
 * trailer  'T' u8 · records u64 · rawBytes u64 · contentCrc u32 · fileBytes u64 · fileCrc u32 (of every
 *          byte before it) · crc u32 (of the trailer) · end magic 4
 * ```
 *
 * Nothing in a file depends on the moment or place of writing, so the same records give the same bytes.
 * The header names run and range, so a file under another file's name is found out. `contentCrc` is of
 * the uncompressed records: two files with the same content are equal whatever their codec.
 */
import { crc32 } from "node:zlib";
import type { BlockCodec } from "./block-codec.ts";
import { codecNumbered } from "./block-codec.ts";

/** Largest record; so a reader knows how much memory a block may ask for. */
export const recordBytesMax = 64 * 1024 * 1024;
/** A block is closed at this size, so it is larger only when its last record is. */
export const blockBytes = 256 * 1024;
/** Largest block, uncompressed: a full one, one more record and its length prefix. */
export const blockRawBytesMax = blockBytes + recordBytesMax + 5;

/** Most records in a block: each takes a byte at least, and the block is closed at its size. */
const blockRecordsMax = blockBytes;
/** Largest file, uncompressed. Compressed it may be tiny: without a bound, a few bytes could keep a reader busy for days. */
export const fileRawBytesMax = 2 * 1024 * 1024 * 1024;

/** High bit, line ends of both kinds, end-of-file: what damages text in transit damages this too. */
const magic = Buffer.from("\x89TLY\r\n\x1a\n", "latin1");
const endMagic = Buffer.from("\x89END", "latin1");
/** Written into every file; all versions up to this one are read. */
export const formatVersion = 1;
const kinds = ["batch", "message"] as const;
const blockMarker = 0x42;
const trailerMarker = 0x54;

const headerFixedBytes = magic.length + 5 + 16;
/** Bytes before the header's length is known. */
export const headerPrefixBytes = headerFixedBytes;
export const blockHeaderBytes = 17;
export const trailerBytes = 41;
const trailerFileCrcAt = 29;

/** What a file says about itself at its beginning. */
export interface FileHeader {
  readonly kind: (typeof kinds)[number];
  readonly codec: BlockCodec;
  readonly runId: string;
  /** Full name of the records' message type; empty when the writer did not say. */
  readonly typeName: string;
  readonly tickStart: number;
  readonly tickEnd: number;
}

/** What a block says about itself. */
export interface BlockHeader {
  readonly records: number;
  readonly rawBytes: number;
  readonly storedBytes: number;
  readonly crc: number;
}

/** What a file says about itself at its end. */
export interface FileTrailer {
  readonly records: number;
  readonly rawBytes: number;
  readonly contentCrc: number;
  readonly fileBytes: number;
  readonly fileCrc: number;
}

/** What was expected and what was there; undefined fields mean that all is well. */
export interface Mismatch {
  readonly expected: string;
  readonly found: string;
}

export function encodeHeader(header: FileHeader): Buffer {
  const runId = Buffer.from(header.runId, "utf8");
  const typeName = Buffer.from(header.typeName, "utf8");
  const fixed = Buffer.alloc(headerFixedBytes);
  magic.copy(fixed);
  fixed.set(
    [formatVersion, kinds.indexOf(header.kind) + 1, header.codec.id, runId.length, typeName.length],
    magic.length,
  );
  fixed.writeBigUInt64LE(BigInt(header.tickStart), magic.length + 5);
  fixed.writeBigUInt64LE(BigInt(header.tickEnd), magic.length + 13);
  return withCrc(Buffer.concat([fixed, runId, typeName]));
}

/** The whole length of a header that begins with these bytes; undefined when they begin no header. */
export function headerLength(prefix: Buffer): number | undefined {
  if (!prefix.subarray(0, magic.length).equals(magic)) return undefined;
  if (versionOf(prefix) !== formatVersion) return undefined;
  return headerFixedBytes + (prefix[magic.length + 3] ?? 0) + (prefix[magic.length + 4] ?? 0) + 4;
}

/** The version of the format that a file which begins with these bytes was written in. */
export function versionOf(prefix: Buffer): number | undefined {
  return prefix[magic.length];
}

/** What is wrong with bytes that should begin a file. */
export function headerMismatch(prefix: Buffer): Mismatch {
  if (!prefix.subarray(0, magic.length).equals(magic))
    return { expected: "the first bytes of a Tallyman file", found: prefix.subarray(0, 8).toString("hex") };
  return { expected: `format version ${formatVersion}`, found: `version ${versionOf(prefix)}` };
}

export function decodeHeader(bytes: Buffer): FileHeader | Mismatch {
  const wrongCrc = crcMismatch(bytes, "header");
  if (wrongCrc) return wrongCrc;
  const [kindId = 0, codecId = 0, runIdBytes = 0, typeBytes = 0] = bytes.subarray(magic.length + 1);
  const kind = kinds[kindId - 1];
  const codec = codecNumbered(codecId);
  const ticks = [bytes.readBigUInt64LE(magic.length + 5), bytes.readBigUInt64LE(magic.length + 13)].map(
    Number,
  );
  const [tickStart = 0, tickEnd = 0] = ticks;
  if (!kind || !codec || !ticks.every(Number.isSafeInteger))
    return { expected: "a known kind and codec", found: `kind ${kindId}, codec ${codecId}` };
  const typeAt = headerFixedBytes + runIdBytes;
  return {
    kind,
    codec,
    runId: bytes.toString("utf8", headerFixedBytes, typeAt),
    typeName: bytes.toString("utf8", typeAt, typeAt + typeBytes),
    tickStart,
    tickEnd,
  };
}

export function encodeBlockHeader(block: Omit<BlockHeader, "crc">, payload: Buffer): Buffer {
  const bytes = Buffer.alloc(blockHeaderBytes);
  bytes[0] = blockMarker;
  bytes.writeUInt32LE(block.records, 1);
  bytes.writeUInt32LE(block.rawBytes, 5);
  bytes.writeUInt32LE(block.storedBytes, 9);
  bytes.writeUInt32LE(blockCrc(bytes, payload), 13);
  return bytes;
}

/** Decodes and bounds a block's header, before a byte of its payload is read or allocated. */
export function decodeBlockHeader(bytes: Buffer): BlockHeader | Mismatch {
  const block = {
    records: bytes.readUInt32LE(1),
    rawBytes: bytes.readUInt32LE(5),
    storedBytes: bytes.readUInt32LE(9),
    crc: bytes.readUInt32LE(13),
  };
  const plausible =
    bytes[0] === blockMarker &&
    block.rawBytes <= blockRawBytesMax &&
    block.records >= 1 &&
    block.records <= Math.min(block.rawBytes, blockRecordsMax) &&
    block.storedBytes <= storedBytesMax(block.rawBytes);
  return plausible ? block : { expected: "a block or the trailer", found: bytes.toString("hex") };
}

/** The checksum of a block: of its header before the checksum, and its payload. */
export function blockCrc(header: Buffer, payload: Buffer): number {
  return crc32(payload, crc32(header.subarray(0, 13)));
}

/** True when the byte at which a block could begin begins the trailer. */
export function isTrailer(marker: number | undefined): boolean {
  return marker === trailerMarker;
}

/** @param crcBefore - checksum of every byte of the file before the trailer */
export function encodeTrailer(trailer: Omit<FileTrailer, "fileCrc">, crcBefore: number): Buffer {
  const bytes = Buffer.alloc(trailerFileCrcAt + 4);
  bytes[0] = trailerMarker;
  bytes.writeBigUInt64LE(BigInt(trailer.records), 1);
  bytes.writeBigUInt64LE(BigInt(trailer.rawBytes), 9);
  bytes.writeUInt32LE(trailer.contentCrc, 17);
  bytes.writeBigUInt64LE(BigInt(trailer.fileBytes), 21);
  bytes.writeUInt32LE(crc32(bytes.subarray(0, trailerFileCrcAt), crcBefore), trailerFileCrcAt);
  return Buffer.concat([withCrc(bytes), endMagic]);
}

export function decodeTrailer(bytes: Buffer): FileTrailer | Mismatch {
  if (bytes.length !== trailerBytes || !isTrailer(bytes[0]) || !bytes.subarray(-4).equals(endMagic))
    return { expected: "the trailer", found: bytes.subarray(0, trailerBytes).toString("hex") };
  const wrongCrc = crcMismatch(bytes.subarray(0, -4), "trailer");
  if (wrongCrc) return wrongCrc;
  return {
    records: Number(bytes.readBigUInt64LE(1)),
    rawBytes: Number(bytes.readBigUInt64LE(9)),
    contentCrc: bytes.readUInt32LE(17),
    fileBytes: Number(bytes.readBigUInt64LE(21)),
    fileCrc: bytes.readUInt32LE(trailerFileCrcAt),
  };
}

/** The checksum that a trailer must hold, given that of all bytes before it. */
export function fileCrcOf(trailer: Buffer, crcBefore: number): number {
  return crc32(trailer.subarray(0, trailerFileCrcAt), crcBefore);
}

/** No codec makes a block much larger; more than this is no block. */
function storedBytesMax(rawBytes: number): number {
  return rawBytes + (rawBytes >>> 8) + 1024;
}

function withCrc(bytes: Buffer): Buffer {
  const crc = Buffer.alloc(4);
  crc.writeUInt32LE(crc32(bytes));
  return Buffer.concat([bytes, crc]);
}

function crcMismatch(bytes: Buffer, part: string): Mismatch | undefined {
  const stored = bytes.readUInt32LE(bytes.length - 4);
  const computed = crc32(bytes.subarray(0, -4));
  return stored === computed
    ? undefined
    : { expected: `checksum ${hex(stored)} of the ${part}`, found: hex(computed) };
}

/** A checksum as people write it. */
export function hex(crc: number): string {
  return crc.toString(16).padStart(8, "0");
}
