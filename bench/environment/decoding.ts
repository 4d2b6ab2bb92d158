import { fromBinary } from "@bufbuild/protobuf";
import { TickDataSchema } from "../../src/contracts/index.ts";
import { decodeTick } from "../../src/pipeline/ticks/decode-tick.ts";
import { worldRecords } from "../storage/world.ts";

const ticks = 1500;

/** Speed of one decoder. */
export interface DecodingRate {
  readonly decoder: string;
  readonly megabytesPerSecond: number;
  readonly nanosecondsPerCell: number;
}

/** Decodes ticks that are all kept, as a buffer keeps them; the best of `rounds`. */
export function compareDecoders(rounds: number): DecodingRate[] {
  const records = [...worldRecords(ticks)];
  const bytes = records.reduce((sum, record) => sum + record.length, 0);
  const cells = records.reduce((sum, record) => sum + decodeTick(record).cellCount, 0);
  const decoders: readonly [string, (record: Uint8Array) => unknown][] = [
    ["protobuf-es", (record) => fromBinary(TickDataSchema, record)],
    ["decodeTick", decodeTick],
  ];
  return decoders.map(([decoder, decode]) => {
    const ms = Math.min(...Array.from({ length: rounds + 2 }, () => timeOf(records, decode)));
    return {
      decoder,
      megabytesPerSecond: Math.round(bytes / 1000 / ms),
      nanosecondsPerCell: Math.round((ms * 1e6) / cells),
    };
  });
}

function timeOf(records: readonly Uint8Array[], decode: (record: Uint8Array) => unknown): number {
  const start = performance.now();
  const kept = records.map(decode);
  const ms = performance.now() - start;
  if (kept.length !== records.length) throw new Error("ticks are missing");
  return ms;
}
