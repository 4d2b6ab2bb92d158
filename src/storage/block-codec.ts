import { promisify } from "node:util";
import { brotliCompress, brotliDecompress, constants, gunzip, gzip } from "node:zlib";

/** How the blocks of a file are compressed. */
export type CodecName = "none" | "gzip" | "brotli";

/** Compresses one block; decompression never yields more than it was told to expect. */
export interface BlockCodec {
  readonly name: CodecName;
  /** Its number in the file's header: never reused. */
  readonly id: number;
  /** The key's extension, without a dot; empty for none. */
  readonly extension: string;
  compress(raw: Buffer): Promise<Buffer>;
  /** A buffer of its own. Throws when the result would be larger than `rawBytes`. */
  decompress(stored: Buffer, rawBytes: number): Promise<Buffer>;
}

/** A compressed block fits; zlib's own 16 KB would be a trip to its thread for each piece. */
const outputChunkBytes = 64 * 1024;
/** Room behind a decompressed block, so that it comes in one piece and is not copied together. */
const outputSlackBytes = 1024;
/** Measured in docs/decisions/004-batch-file-format.md. */
const brotliQuality = 1;
const gzipLevel = 1;
/** 2^18, a block: a larger window finds nothing more, and the decoder sets its memory aside for each block. */
const brotliWindowBits = 18;

const [compressBrotli, decompressBrotli] = [promisify(brotliCompress), promisify(brotliDecompress)];
const [compressGzip, decompressGzip] = [promisify(gzip), promisify(gunzip)];

const codecs: readonly BlockCodec[] = [
  {
    name: "none",
    id: 0,
    extension: "",
    compress: async (raw) => raw,
    decompress: async (stored) => Buffer.from(stored),
  },
  {
    name: "gzip",
    id: 1,
    extension: "gz",
    compress: (raw) => compressGzip(raw, { level: gzipLevel, chunkSize: outputChunkBytes }),
    decompress: (stored, rawBytes) => decompressGzip(stored, outputOf(rawBytes)),
  },
  {
    name: "brotli",
    id: 2,
    extension: "br",
    compress: (raw) =>
      compressBrotli(raw, {
        params: {
          [constants.BROTLI_PARAM_QUALITY]: brotliQuality,
          [constants.BROTLI_PARAM_LGWIN]: brotliWindowBits,
          [constants.BROTLI_PARAM_SIZE_HINT]: raw.length,
        },
        chunkSize: outputChunkBytes,
      }),
    decompress: (stored, rawBytes) => decompressBrotli(stored, outputOf(rawBytes)),
  },
];

/** Every codec that can be read and written. */
export const codecNames: readonly CodecName[] = codecs.map(({ name }) => name);

/** The codec of a name. */
export function codecNamed(name: CodecName): BlockCodec {
  const found = codecs.find((codec) => codec.name === name);
  if (!found) throw new RangeError(`There is no codec '${name}'.`);
  return found;
}

/** The codec of a number in a file's header; undefined for one that this version does not know. */
export function codecNumbered(id: number): BlockCodec | undefined {
  return codecs.find((codec) => codec.id === id);
}

/** The codec of a key's last extension; undefined for one that is not ours. */
export function codecOfExtension(extension = ""): CodecName | undefined {
  return codecs.find((codec) => codec.extension === extension)?.name;
}

/** What a codec adds to a key: `.br`, or nothing. */
export function extensionOf(name: CodecName): string {
  const { extension } = codecNamed(name);
  return extension === "" ? "" : `.${extension}`;
}

function outputOf(rawBytes: number): { maxOutputLength: number; chunkSize: number } {
  return { maxOutputLength: rawBytes, chunkSize: rawBytes + outputSlackBytes };
}
