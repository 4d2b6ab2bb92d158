import type { WorldAtTick } from "../pipeline/index.ts";

/** The form that {@link encodeWorld} makes, in words. */
export const worldBytesDescription =
  "Little-endian. Header of 24 bytes: tick number (float64), id of the last cell (float64), number of cells n (uint32), 1 when there are more cells, else 0 (uint32). Then columns, each with one value per cell: owner (n × float64, 0 for none), x (n × uint32), y (n × uint32), value (n × int32), state (n × uint8).";

const headerBytes = 24;
const cellBytes = 21;

/** A world in a form that a browser can draw from as it is: 21 bytes per cell, and nothing to parse. */
export function encodeWorld({ tickNumber, cells, truncated }: WorldAtTick): Uint8Array {
  const count = cells.length;
  const bytes = new ArrayBuffer(headerBytes + count * cellBytes);
  const view = new DataView(bytes);
  view.setFloat64(0, tickNumber, true);
  view.setFloat64(8, cells.at(-1)?.cellId ?? -1, true);
  view.setUint32(16, count, true);
  view.setUint32(20, truncated ? 1 : 0, true);
  const xStart = headerBytes + count * 8;
  cells.forEach(({ owner, x, y, value, state }, index) => {
    view.setFloat64(headerBytes + index * 8, owner ?? 0, true);
    view.setUint32(xStart + index * 4, x, true);
    view.setUint32(xStart + (count + index) * 4, y, true);
    view.setInt32(xStart + (2 * count + index) * 4, value, true);
    view.setUint8(xStart + 3 * count * 4 + index, state);
  });
  return new Uint8Array(bytes);
}
