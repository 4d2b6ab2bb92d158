import { readFileSync } from "node:fs";
import { crc32 } from "node:zlib";

/** What a batch file turned out to be when every byte of it was looked at. */
export type FileVerdict =
  | {
      readonly isWhole: true;
      readonly tickStart: number;
      readonly tickEnd: number;
      readonly records: number;
      readonly crc: number;
    }
  | { readonly isWhole: false; readonly reason: string };

const magic = Buffer.from("\x89TLY\r\n\x1a\n", "latin1");
const endMagic = Buffer.from("\x89END", "latin1");
const headerFixedBytes = 29;
const blockHeaderBytes = 17;
const trailerBytes = 41;
const [blockMarker, trailerMarker] = [0x42, 0x54];

/** Reads a batch file by the description of its format, not by the product's code. */
export function examineFile(path: string): FileVerdict {
  try {
    return examine(readFileSync(path));
  } catch (error) {
    return { isWhole: false, reason: String(error) };
  }
}

function examine(bytes: Buffer): FileVerdict {
  const broken = (reason: string): FileVerdict => ({ isWhole: false, reason });
  if (!bytes.subarray(0, magic.length).equals(magic)) return broken("no magic");
  const headerEnd = headerFixedBytes + (bytes[11] ?? 0) + (bytes[12] ?? 0) + 4;
  if (bytes.readUInt32LE(headerEnd - 4) !== crc32(bytes.subarray(0, headerEnd - 4))) return broken("header");
  let [at, records] = [headerEnd, 0];
  while (bytes[at] === blockMarker) {
    const end = at + blockHeaderBytes + bytes.readUInt32LE(at + 9);
    const payload = bytes.subarray(at + blockHeaderBytes, end);
    if (
      end > bytes.length ||
      crc32(payload, crc32(bytes.subarray(at, at + 13))) !== bytes.readUInt32LE(at + 13)
    )
      return broken(`block at ${at}`);
    records += bytes.readUInt32LE(at + 1);
    at = end;
  }
  const crc = crc32(bytes.subarray(0, at + 29));
  const isEnd = bytes.length === at + trailerBytes && bytes.subarray(-endMagic.length).equals(endMagic);
  if (bytes[at] !== trailerMarker || !isEnd) return broken("trailer");
  if (bytes.readUInt32LE(at + 29) !== crc || Number(bytes.readBigUInt64LE(at + 1)) !== records)
    return broken("sums");
  if (bytes.readUInt32LE(at + 33) !== crc32(bytes.subarray(at, at + 33))) return broken("trailer's checksum");
  const tick = (offset: number) => Number(bytes.readBigUInt64LE(offset));
  return { isWhole: true, tickStart: tick(13), tickEnd: tick(21), records, crc };
}
