import { create, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { BatchInfoSchema } from "../../src/contracts/index.ts";

const int64Max = 2n ** 63n - 1n;
const deep = 100_000;
const groupStart = (31 << 3) | WireType.StartGroup;

/** Bytes that are no protobuf message, or one that lies. */
export const hostileMessages: Readonly<Record<string, Uint8Array>> = {
  empty: new Uint8Array(0),
  "a lone tag": Buffer.from([0x0a]),
  "a truncated varint": Buffer.from([0x18, 0xff, 0xff]),
  "an endless varint": Buffer.alloc(64, 0xff),
  "field 0": Buffer.from([0x02, 0x01, 0x41]),
  "the wrong wire type": Buffer.concat([Buffer.from([0x0d]), Buffer.alloc(4)]),
  "an unknown wire type": Buffer.from([0x0f, 0x01]),
  "a declared length of 2 GB": lengthOf(2 ** 31 - 1),
  "a declared length of 4 GB": lengthOf(2 ** 32 - 1),
  "a declared length of 2^64": Buffer.from([
    0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01,
  ]),
  "no UTF-8": Buffer.from([0x12, 0x02, 0xc3, 0x28]),
  "deep groups": Buffer.from(Array.from({ length: deep }, () => varint(groupStart)).flat()),
  "a group that ends before it starts": Buffer.from(varint((31 << 3) | WireType.EndGroup)),
  "unknown fields only": unknownFields(10_000),
  "64-bit extremes": batchInfo({ tickStart: int64Max, tickEnd: int64Max, bytes: int64Max }),
  "negative ticks": batchInfo({ tickStart: -(2n ** 63n), tickEnd: -1n }),
  "a NUL in the key": batchInfo({ storageKey: "run-1/\0" }),
  "a key of a megabyte": batchInfo({ storageKey: `run-1/${"x".repeat(1_000_000)}` }),
  "the same field twice, the last of another run": Buffer.concat([
    batchInfo({ storageKey: "run-1/raw/batch_0000000000_0000000009.pb" }),
    batchInfo({ storageKey: "run-2/raw/batch_0000000000_0000000009.pb" }),
  ]),
  "a terabyte of ticks": batchInfo({
    storageKey: "run-1/raw/batch_0000000000_9223372036854775807.pb",
    tickEnd: int64Max,
  }),
};

/** So many messages of random bytes, some with a valid beginning; the same for the same seed. */
export function randomMessages(count: number, next: () => number): Uint8Array[] {
  const valid = batchInfo({ storageKey: "run-1/raw/batch_0000000000_0000000009.pb", tickEnd: 9n });
  return Array.from({ length: count }, () => {
    const noise = Buffer.from(
      Array.from({ length: Math.floor(next() * 60) }, () => Math.floor(next() * 256)),
    );
    if (next() < 0.5) return noise;
    return Buffer.concat([valid.subarray(0, Math.floor(next() * valid.length)), noise]);
  });
}

function batchInfo(fields: Parameters<typeof create<typeof BatchInfoSchema>>[1]): Uint8Array {
  return toBinary(BatchInfoSchema, create(BatchInfoSchema, { simulationRunId: "run-1", ...fields }));
}

function lengthOf(bytes: number): Uint8Array {
  return Buffer.concat([
    new BinaryWriter().tag(2, WireType.LengthDelimited).uint32(bytes).finish(),
    Buffer.from("x"),
  ]);
}

function unknownFields(count: number): Uint8Array {
  const writer = new BinaryWriter();
  for (let field = 0; field < count; field++) writer.tag(1_000 + field, WireType.Varint).uint32(field);
  return writer.finish();
}

function varint(value: number): number[] {
  return [...new BinaryWriter().uint32(value).finish()];
}
