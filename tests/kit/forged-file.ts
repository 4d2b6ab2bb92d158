import { brotliCompressSync, constants, crc32, gzipSync } from "node:zlib";
import { type CodecName, codecNamed } from "../../src/storage/block-codec.ts";
import {
  encodeBlockHeader,
  encodeHeader,
  encodeTrailer,
  trailerBytes,
} from "../../src/storage/file-format.ts";

/** A block as its header claims it to be. */
export interface ForgedBlock {
  readonly records: number;
  readonly rawBytes: number;
  readonly payload: Buffer;
}

const megabyte = 1024 * 1024;
/** Field 9 of a TickData, which has none: whatever follows it is skipped. */
const unknownField = Buffer.of((9 << 3) | 2);
const compressors = {
  gzip: (raw: Buffer) => gzipSync(raw),
  brotli: (raw: Buffer) => brotliCompressSync(raw, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
} as const;

/** The header that batch files of run-1 have in these tests. */
export function headerOf(codec: CodecName, { tickStart = 0, tickEnd = 999 } = {}) {
  const typeName = "tallyman.v1.TickData";
  return { kind: "batch", codec: codecNamed(codec), typeName, runId: "run-1", tickStart, tickEnd } as const;
}

/** A file whose checksums are right, whatever its blocks say and hold. */
export function forge(
  codec: CodecName,
  blocks: readonly ForgedBlock[],
  ticks?: { tickStart: number; tickEnd: number },
): Buffer {
  const body = blocks.flatMap(({ records, rawBytes, payload }) => [
    encodeBlockHeader({ records, rawBytes, storedBytes: payload.length }, payload),
    payload,
  ]);
  const before = Buffer.concat([encodeHeader(headerOf(codec, ticks)), ...body]);
  const sum = (field: "records" | "rawBytes") => blocks.reduce((total, block) => total + block[field], 0);
  const totals = { records: sum("records"), rawBytes: sum("rawBytes"), contentCrc: 0 };
  return Buffer.concat([
    before,
    encodeTrailer({ ...totals, fileBytes: before.length + trailerBytes }, crc32(before)),
  ]);
}

/** Blocks that are small in a file and large in memory; the codec's own bounds don't catch them. */
export const bombs: Readonly<Record<string, (codec: "gzip" | "brotli") => ForgedBlock[]>> = {
  "gigabytes in many blocks": (codec) => {
    const record = delimited(Buffer.concat([unknownField, delimited(Buffer.alloc(60 * megabyte))]));
    const block = { records: 1, rawBytes: record.length, payload: compressors[codec](record) };
    return Array.from({ length: 40 }, () => block);
  },
  "a block of sixty million empty records": (codec) => {
    const records = 60 * megabyte;
    return [{ records, rawBytes: records, payload: compressors[codec](Buffer.alloc(records)) }];
  },
  "a tick of thirty million empty cells": (codec) => tickOf(codec, 0x22),
  "a tick of thirty million empty organisms": (codec) => tickOf(codec, 0x2a),
};

/** One TickData that has nothing but empty parts under one tag: two bytes each. */
function tickOf(codec: "gzip" | "brotli", tag: number): ForgedBlock[] {
  const record = delimited(Buffer.alloc(60 * megabyte, Buffer.from([tag, 0])));
  return [{ records: 1, rawBytes: record.length, payload: compressors[codec](record) }];
}

/** Bytes with their length before them. */
function delimited(bytes: Buffer): Buffer {
  const length: number[] = [];
  for (let rest = bytes.length; ; rest >>>= 7) {
    length.push(rest > 0x7f ? (rest & 0x7f) | 0x80 : rest);
    if (rest <= 0x7f) return Buffer.concat([Buffer.from(length), bytes]);
  }
}
