import { create, equals, fromBinary, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CellSchema, OrganismSchema, type TickData, TickDataSchema } from "../../contracts/index.ts";
import { decodeTick } from "./decode-tick.ts";
import { packTick } from "./packed-tick.ts";

const runs = { numRuns: 500 };
const int64 = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.bigInt({ min: -3n, max: 300n }),
  fc.constantFrom(0n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 32n, -(2n ** 63n), 2n ** 63n - 1n),
);
const int32 = fc.oneof(fc.integer(), fc.constantFrom(0, -1, 127, 128, 2 ** 31 - 1, -(2 ** 31)));
const uint32 = fc.oneof(
  fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  fc.constantFrom(0, 127, 128, 2 ** 31, 2 ** 32 - 1),
);

const cell = fc
  .record({ cellId: uint32, x: uint32, y: uint32, state: int32, value: int32, owner: int64 })
  .map((fields) => create(CellSchema, fields));
const organism = fc
  .record(
    {
      organismId: int64,
      parentId: int64,
      birthTick: int64,
      x: uint32,
      y: uint32,
      energy: int32,
      age: int32,
      deathTick: int64,
    },
    { requiredKeys: ["organismId", "birthTick", "x", "y", "energy", "age"] },
  )
  .map((fields) => create(OrganismSchema, fields));
const tickData = fc
  .record({
    tickNumber: int64,
    simulationRunId: fc.string({ unit: "grapheme" }),
    capturedAtMs: int64,
    cells: fc.array(cell, { maxLength: 6 }),
    organisms: fc.array(organism, { maxLength: 6 }),
  })
  .map((fields) => create(TickDataSchema, fields));

/** A field that the contract does not have, of every wire type. */
const unknownField = fc
  .record({
    field: fc.integer({ min: 9, max: 2000 }),
    wireType: fc.integer({ min: 0, max: 3 }),
    value: uint32,
  })
  .map(({ field, wireType, value }) => {
    const writer = new BinaryWriter();
    if (wireType === 0) return writer.tag(field, WireType.Varint).uint32(value).finish();
    if (wireType === 1) return writer.tag(field, WireType.Bit64).double(value).finish();
    if (wireType === 2) return writer.tag(field, WireType.LengthDelimited).string(`${value}`).finish();
    const group = writer.tag(field, WireType.StartGroup).tag(1, WireType.Varint).uint32(value);
    return group.tag(field, WireType.EndGroup).finish();
  });

/** What protobuf-es makes of the bytes; undefined where it refuses them. */
function byProtobuf(bytes: Uint8Array): TickData | undefined {
  try {
    return fromBinary(TickDataSchema, bytes, { readUnknownFields: false });
  } catch {
    return undefined;
  }
}

function decoded(bytes: Uint8Array): TickData | undefined {
  try {
    return decodeTick(bytes);
  } catch (error) {
    expect(error).toBeInstanceOf(Error);
    return undefined;
  }
}

/** The packed tick as a plain message. */
function plain({ tickNumber, simulationRunId, capturedAtMs, cells, organisms }: TickData): TickData {
  return create(TickDataSchema, { tickNumber, simulationRunId, capturedAtMs, cells, organisms });
}

function expectSame(found: TickData, expected: TickData): void {
  expect(plain(found)).toEqual(expected);
  expect(equals(TickDataSchema, plain(found), expected)).toBe(true);
}

describe("decodeTick", { timeout: 30_000 }, () => {
  it("gives what protobuf-es gives", () => {
    fc.assert(
      fc.property(tickData, (tick) => expectSame(decodeTick(toBinary(TickDataSchema, tick)), tick)),
      runs,
    );
  });

  it("leaves out fields that it does not know, in the tick and in its parts", () => {
    const inside = (field: number, message: Uint8Array, unknown: Uint8Array) =>
      new BinaryWriter()
        .tag(field, WireType.LengthDelimited)
        .bytes(Buffer.concat([unknown, message, unknown]))
        .finish();
    fc.assert(
      fc.property(tickData, cell, organism, unknownField, (tick, oneCell, oneOrganism, unknown) => {
        const bytes = Buffer.concat([
          unknown,
          inside(4, toBinary(CellSchema, oneCell), unknown),
          toBinary(TickDataSchema, tick),
          inside(5, toBinary(OrganismSchema, oneOrganism), unknown),
          unknown,
        ]);
        const { cells, organisms } = tick;
        const expected = { ...tick, cells: [oneCell, ...cells], organisms: [...organisms, oneOrganism] };
        expectSame(decodeTick(bytes), expected);
      }),
      runs,
    );
  });

  it("refuses bytes that are cut off wherever protobuf-es does, and else gives the same", () => {
    fc.assert(
      fc.property(tickData, fc.double({ min: 0, max: 1, noNaN: true }), (tick, share) => {
        const bytes = toBinary(TickDataSchema, tick);
        const cut = bytes.subarray(0, Math.floor(bytes.length * share));
        const [found, expected] = [decoded(cut), byProtobuf(cut)];
        expect(found === undefined).toBe(expected === undefined);
        if (found && expected) expectSame(found, expected);
      }),
      runs,
    );
  });

  it("never makes something else of altered bytes than protobuf-es", () => {
    const change = fc.record({ at: fc.nat(), to: fc.integer({ min: 0, max: 255 }) });
    fc.assert(
      fc.property(tickData, fc.array(change, { minLength: 1, maxLength: 4 }), (tick, changes) => {
        const bytes = toBinary(TickDataSchema, tick);
        if (bytes.length === 0) return;
        for (const { at, to } of changes) bytes[at % bytes.length] = to;
        const found = decoded(bytes);
        if (!found) return;
        const expected = byProtobuf(bytes);
        expect(expected).toBeDefined();
        expectSame(found, expected as TickData);
      }),
      { numRuns: 3000 },
    );
  });

  it("refuses a known field of another wire type", () => {
    const tickNumberAsText = new BinaryWriter().tag(1, WireType.LengthDelimited).string("7").finish();
    expect(() => decodeTick(tickNumberAsText)).toThrowError("field 1 in wire type 2");
  });

  it.each([
    ["one byte", [0x22, 0x01, 0x28, 0x05], 3],
    ["more bytes", [0x22, 0x02, 0x28, 0x80, 0x01, 0x08, 0x07], 4],
  ])("refuses a part whose number of %s reaches beyond it, although the bytes go on", (_, bytes, at) => {
    expect(() => decodeTick(Buffer.from(bytes))).toThrowError(`premature end at byte ${at}`);
  });
});

describe("packTick", () => {
  it("keeps every value of a plain message", () => {
    fc.assert(
      fc.property(tickData, (tick) => expectSame(packTick(tick), tick)),
      runs,
    );
  });
});
