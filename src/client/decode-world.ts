/** The cells of a world, column by column: the cell at `index` is `(x[index], y[index])`. */
export interface WorldColumns {
  readonly tickNumber: number;
  /** To ask for more: `afterCellId`. */
  readonly lastCellId: number;
  readonly truncated: boolean;
  /** The organism that owns a cell; 0 for none. */
  readonly owner: Float64Array;
  readonly x: Uint32Array;
  readonly y: Uint32Array;
  readonly value: Int32Array;
  readonly state: Uint8Array;
}

const headerBytes = 24;

/**
 * Reads what `GET /api/runs/:runId/environment` answers with `format=binary`. The columns are views of the bytes: on
 * a machine that is little-endian, as all are that run browsers, nothing is copied.
 *
 * @example
 * ```ts
 * const bytes = await client.bytes("GET /api/runs/:runId/environment", { params: { runId }, query: { tick: 500 } });
 * const { x, y, state } = decodeWorld(bytes);
 * ```
 */
export function decodeWorld(bytes: ArrayBuffer): WorldColumns {
  const header = new DataView(bytes, 0, headerBytes);
  const count = header.getUint32(16, true);
  const xStart = headerBytes + count * 8;
  return {
    tickNumber: header.getFloat64(0, true),
    lastCellId: header.getFloat64(8, true),
    truncated: header.getUint32(20, true) === 1,
    owner: new Float64Array(bytes, headerBytes, count),
    x: new Uint32Array(bytes, xStart, count),
    y: new Uint32Array(bytes, xStart + count * 4, count),
    value: new Int32Array(bytes, xStart + 2 * count * 4, count),
    state: new Uint8Array(bytes, xStart + 3 * count * 4, count),
  };
}
