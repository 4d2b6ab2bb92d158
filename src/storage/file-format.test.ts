import { brotliCompressSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { forge, headerOf } from "../../tests/kit/forged-file.ts";
import { TickDataSchema } from "../contracts/index.ts";
import { decodeRecord, messageDecoder } from "./batch-reader.ts";
import type { CodecName } from "./block-codec.ts";
import { CorruptBatchError } from "./corrupt-batch-error.ts";
import { readSummary, recordsOf, verifyFile } from "./decode-file.ts";
import { FileEncoder } from "./encode-file.ts";
import { blockHeaderBytes, encodeHeader, trailerBytes } from "./file-format.ts";
import { storedBuffer } from "./held-in-memory.ts";

/** Fixed, so that a failure is the same everywhere; STORAGE_FUZZ_SEED and STORAGE_FUZZ_FILES widen the search. */
const seed = Number(process.env.STORAGE_FUZZ_SEED ?? 20251006);
const damagedFiles = Number(process.env.STORAGE_FUZZ_FILES ?? 2_000);

const key = "run-1/raw/00000000000/000/batch_0000000000000000000_0000000000000000999.pb";

async function encode(records: Iterable<Uint8Array>, codec: CodecName): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of new FileEncoder(headerOf(codec), records).chunks()) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** What a reader does: the first pass, and only then the records. */
async function read(bytes: Buffer, from = 0): Promise<Buffer[]> {
  const source = storedBuffer(bytes);
  await verifyFile(key, source);
  const records: Buffer[] = [];
  for await (const record of recordsOf(key, source, from)) records.push(Buffer.from(record.bytes));
  return records;
}

/** The error of reading; fails the test when anything but a CorruptBatchError, or no error, comes out. */
async function damageOf(bytes: Buffer): Promise<CorruptBatchError> {
  const outcome = await read(bytes).then(
    (records) => `${records.length} records`,
    (error: unknown) => error,
  );
  if (outcome instanceof CorruptBatchError) return outcome;
  throw new Error(`Not detected: ${String(outcome)}`, { cause: outcome });
}

describe("file format", () => {
  const records = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 60 });
  const codec = fc.constantFrom<CodecName>("none", "gzip", "brotli");

  it("gives back any records from any position, and the same bytes each time", async () => {
    await fc.assert(
      fc.asyncProperty(records, codec, fc.nat(70), async (given, name, from) => {
        const bytes = await encode(given, name);
        expect(await encode(given, name)).toEqual(bytes);
        expect(await read(bytes, from)).toEqual(given.slice(from).map((record) => Buffer.from(record)));
        const { header, trailer } = await readSummary(key, storedBuffer(bytes));
        expect(header).toEqual(headerOf(name));
        expect(trailer).toMatchObject({ records: given.length, fileBytes: bytes.length });
      }),
      { seed, numRuns: 200 },
    );
  });

  it("is read the same however its bytes are cut", async () => {
    const given = Array.from({ length: 50 }, (_, index) => Buffer.alloc(index * 37, index));
    const bytes = await encode(given, "brotli");
    for (const size of [1, 2, 7, 64, 1_000]) {
      const source = {
        ...storedBuffer(bytes),
        async *stream(from = 0) {
          for (let at = from; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
        },
      };
      await verifyFile(key, source);
      const found: Buffer[] = [];
      for await (const record of recordsOf(key, source)) found.push(Buffer.from(record.bytes));
      expect(found).toEqual(given);
    }
  });
});

describe("damage", () => {
  const files: Buffer[] = [];
  const random = randomNumbers(seed);

  beforeAll(async () => {
    for (const name of ["none", "gzip", "brotli"] as const)
      for (const count of [0, 1, 40, 700])
        files.push(
          await encode(
            Array.from({ length: count }, (_, index) => Buffer.alloc(1 + random(900), `tick ${index}`)),
            name,
          ),
        );
  });

  const kinds: Record<string, (file: Buffer) => Buffer> = {
    "torn: the rest is zeros": (file) => Buffer.concat([file.subarray(0, random(file.length))], file.length),
    truncated: (file) => file.subarray(0, random(file.length)),
    "a flipped bit in the header": (file) => flip(file, random(40)),
    "a flipped bit in the trailer": (file) => flip(file, file.length - 1 - random(trailerBytes)),
    "a flipped bit anywhere": (file) => flip(file, random(file.length)),
    "a byte changed": (file) => changed(file, random(file.length), 1),
    "many bytes changed": (file) => changed(file, random(file.length), 1 + random(5_000)),
    "bytes appended": (file) => Buffer.concat([file, noise(1 + random(200))]),
    "the file twice": (file) => Buffer.concat([file, file]),
    "a byte taken out": (file) => without(file, random(file.length), 1),
    "bytes put in": (file) => spliced(file, random(file.length), noise(1 + random(30))),
    "two parts swapped": (file) => swapped(file, 1 + random((file.length >> 1) - 1)),
    "the tail of another file": (file) => withTailOf(file, files[random(files.length)] as Buffer),
  };

  it(`is found in ${damagedFiles} damaged files`, { timeout: 120_000 }, async () => {
    const names = Object.keys(kinds);
    for (let tried = 0, skipped = 0; tried < damagedFiles; ) {
      const file = files[random(files.length)] as Buffer;
      const kind = names[tried % names.length] as string;
      const damaged = kinds[kind]?.(file) as Buffer;
      if (damaged.equals(file)) {
        expect(skipped++).toBeLessThan(damagedFiles);
        continue;
      }
      const error = await damageOf(damaged).catch((undetected: unknown) => {
        throw new Error(`${kind}, file ${tried}, seed ${seed}`, { cause: undetected });
      });
      expect(error.offset).toBeLessThanOrEqual(damaged.length);
      tried++;
    }
  });

  it("is found at every single bit of a file", async () => {
    const file = await encode([Buffer.from("tick 1"), Buffer.from("tick 2")], "brotli");
    for (let bit = 0; bit < file.length * 8; bit++) {
      const damaged = Buffer.from(file);
      damaged[bit >> 3] = (damaged[bit >> 3] as number) ^ (1 << (bit & 7));
      await damageOf(damaged);
    }
  });

  it("names the block in which it lies", async () => {
    const file = await encode(
      Array.from({ length: 100 }, () => noise(10_000)),
      "none",
    );
    const blocks: number[] = [];
    for (
      let at = encodeHeader(headerOf("none")).length;
      file[at] === 0x42;
      at += blockHeaderBytes + file.readUInt32LE(at + 9)
    )
      blocks.push(at);
    expect(blocks.length).toBe(4);
    for (const at of blocks) expect((await damageOf(flip(file, at + 5_000))).offset).toBe(at);
  });

  it("of a record is told with its position, whatever the decoder throws", () => {
    for (const bytes of [
      Buffer.from([0x0a, 0xff]),
      Buffer.from([0xff, 0xff, 0xff]),
      noise(40),
      Buffer.from([0x03]),
    ]) {
      const decode = () => decodeRecord(key, messageDecoder(TickDataSchema), bytes, 7);
      expect(decode).toThrowError(CorruptBatchError);
      expect(decode).toThrowError(/record 7/);
    }
  });
});

describe("the decoder", () => {
  const random = randomNumbers(seed + 1);

  it("survives 100,000 random bytes, whole and in pieces, with every beginning that is valid", async () => {
    const bytes = noise(100_000);
    const beginnings = [
      Buffer.alloc(0),
      ...(["none", "gzip", "brotli"] as const).map((name) => encodeHeader(headerOf(name))),
    ];
    for (const beginning of beginnings) {
      await damageOf(Buffer.concat([beginning, bytes]));
      for (let at = 0, end = 0; at < bytes.length; at = end) {
        end = at + 1 + random(500);
        const piece = bytes.subarray(at, end);
        await damageOf(Buffer.concat([beginning, piece]));
        await damageOf(Buffer.concat([beginning, Buffer.from("B"), piece]));
        try {
          decodeRecord(key, messageDecoder(TickDataSchema), piece, 0);
        } catch (error) {
          expect(error).toBeInstanceOf(CorruptBatchError);
        }
      }
    }
  }, 60_000);

  it("rejects a file that is forged with right checksums", { timeout: 60_000 }, async () => {
    const forged: Record<string, () => Buffer> = {
      "a bomb": () =>
        forge("brotli", [
          { records: 1, rawBytes: 1_000, payload: brotliCompressSync(Buffer.alloc(50_000_000)) },
        ]),
      "a bomb in gzip": () =>
        forge("gzip", [{ records: 1, rawBytes: 1_000, payload: gzipSync(Buffer.alloc(50_000_000)) }]),
      "more than it holds": () =>
        forge("brotli", [{ records: 1, rawBytes: 9, payload: brotliCompressSync(Buffer.alloc(3)) }]),
      "a block larger than any": () =>
        forge("brotli", [{ records: 1, rawBytes: 0xffffffff, payload: Buffer.alloc(9) }]),
      "more records than any block has": () =>
        forge("brotli", [
          { records: 300_000, rawBytes: 300_000, payload: brotliCompressSync(Buffer.alloc(300_000)) },
        ]),
      "too few records": () => forge("none", [{ records: 2, rawBytes: 2, payload: Buffer.from([1, 65]) }]),
      "too many records": () =>
        forge("none", [{ records: 1, rawBytes: 4, payload: Buffer.from([1, 65, 1, 66]) }]),
      "a length beyond the block": () =>
        forge("none", [{ records: 1, rawBytes: 2, payload: Buffer.from([9, 65]) }]),
      "an endless length": () => forge("none", [{ records: 1, rawBytes: 6, payload: Buffer.alloc(6, 0xff) }]),
      "no records in a block": () =>
        forge("none", [{ records: 0, rawBytes: 2, payload: Buffer.from([1, 65]) }]),
      "not compressed": () => forge("gzip", [{ records: 1, rawBytes: 2, payload: Buffer.from([1, 65]) }]),
    };
    for (const [what, make] of Object.entries(forged)) {
      const file = make();
      const before = process.memoryUsage().arrayBuffers;
      await damageOf(file).catch((cause: unknown) => {
        throw new Error(what, { cause });
      });
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(20_000_000);
    }
  });
});

function flip(file: Buffer, at: number): Buffer {
  const copy = Buffer.from(file);
  copy[at] = (copy[at] as number) ^ (1 << (at & 7));
  return copy;
}

function changed(file: Buffer, at: number, length: number): Buffer {
  const copy = Buffer.from(file);
  noise(length).copy(copy, at);
  return copy;
}

function without(file: Buffer, at: number, length: number): Buffer {
  return Buffer.concat([file.subarray(0, at), file.subarray(at + length)]);
}

function spliced(file: Buffer, at: number, more: Buffer): Buffer {
  return Buffer.concat([file.subarray(0, at), more, file.subarray(at)]);
}

function swapped(file: Buffer, length: number): Buffer {
  const [first, second] = [file.subarray(0, length), file.subarray(length, 2 * length)];
  return Buffer.concat([second, first, file.subarray(2 * length)]);
}

function withTailOf(file: Buffer, other: Buffer): Buffer {
  return Buffer.concat([file.subarray(0, file.length >> 1), other.subarray(other.length >> 1)]);
}

let noiseState = seed;
function noise(length: number): Buffer {
  const next = randomNumbers(noiseState++);
  return Buffer.from(Uint8Array.from({ length }, () => next(256)));
}

/** A fixed sequence of whole numbers below what is asked for. */
function randomNumbers(start: number): (below: number) => number {
  let state = start;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % Math.max(1, below);
  };
}
