export const copyRows = 1_000_000;

const chunkBytes = 64 * 1024;
const signature = Buffer.from("PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0", "latin1");
const kind = Buffer.from("cell");
const rowBytesMax = 80;

function writeRow(buffer: Buffer, start: number, row: number): number {
  let at = buffer.writeInt16BE(7, start);
  const int8 = (value: number) => {
    at = buffer.writeInt32BE(8, at);
    at = buffer.writeBigInt64BE(BigInt(value), at);
  };
  const int4 = (value: number) => {
    at = buffer.writeInt32BE(4, at);
    at = buffer.writeInt32BE(value, at);
  };
  int8(Math.floor(row / 1000));
  int4(row % 1000);
  int4(row % 7);
  int8(row);
  int4(row % 100);
  int4(row % 50);
  at = buffer.writeInt32BE(kind.length, at);
  return at + kind.copy(buffer, at);
}

/** The whole COPY stream in PostgreSQL's binary form, cut into chunks of 64 KB. */
export function binaryCopyChunks(): Buffer[] {
  const all = Buffer.alloc(signature.length + copyRows * rowBytesMax + 2);
  let at = signature.copy(all);
  for (let row = 0; row < copyRows; row += 1) at = writeRow(all, at, row);
  at = all.writeInt16BE(-1, at);
  const chunks: Buffer[] = [];
  for (let start = 0; start < at; start += chunkBytes)
    chunks.push(all.subarray(start, Math.min(start + chunkBytes, at)));
  return chunks;
}
