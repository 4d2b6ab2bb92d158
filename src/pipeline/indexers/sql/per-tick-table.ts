import type { TickData } from "../../../contracts/index.ts";
import type { Transaction } from "../../../database/index.ts";
import { highHalf, lowHalf, type PackedTick, packTick } from "../../ticks/packed-tick.ts";
import { BinaryCopy } from "./binary-copy.ts";

/** A table with one row for each thing in each tick, and how a row is encoded. */
export interface PerTickTable {
  readonly name: string;
  /** In the order in which `encode` writes them, and the table has them; the first two are its key. */
  readonly columns: readonly string[];
  /** What a row takes in COPY's binary form, at most. */
  readonly rowBytesMax: number;
  /** The things of a tick, `stride` words each. */
  readonly wordsOf: (tick: PackedTick) => Int32Array;
  readonly stride: number;
  /** Writes the fields behind the tick number of the thing that begins at `words[at]`. */
  readonly encode: (copy: BinaryCopy, words: Int32Array, at: number) => void;
}

/**
 * Appends the rows of `ticks`, none of which may be there: for files that are delivered for the first
 * time. The stream holds a few chunks of 64 KiB, however many rows there are.
 *
 * @returns the number of rows
 * @throws the server's unique violation (23505) for a row that is there, or twice in `ticks`;
 * TallymanError BATCH_INVALID for a value that no column takes
 */
export function copyRows(tx: Transaction, table: PerTickTable, ticks: readonly TickData[]): Promise<number> {
  return tx.copyIn(copyText(`sim.${table.name}`, table), copyChunks(table, ticks));
}

/**
 * Adds those rows of `ticks` that are missing, in the order of their key, and leaves the others as they
 * are: for files that may be indexed in part or as a whole. A tick that comes twice counts once; a thing
 * that is twice in one tick is refused, as by {@link copyRows}. The table that the rows are staged in is
 * gone when this returns, so connections may be pooled by transaction.
 *
 * @returns the number of rows that were missing
 * @throws as {@link copyRows}, but not for rows that are there
 */
export async function mergeRows(
  tx: Transaction,
  table: PerTickTable,
  ticks: readonly TickData[],
): Promise<number> {
  const { name, columns } = table;
  const staged = `pg_temp.staged_${name}`;
  const list = columns.join(", ");
  await tx.query(`CREATE TEMPORARY TABLE staged_${name} (LIKE sim.${name} INCLUDING INDEXES) ON COMMIT DROP`);
  await tx.copyIn(copyText(staged, table), copyChunks(table, distinctTicks(ticks)));
  const { rowCount } = await tx.query(
    `INSERT INTO sim.${name} (${list}) SELECT ${list} FROM ${staged}
     ORDER BY ${columns[0]}, ${columns[1]} ON CONFLICT DO NOTHING`,
  );
  await tx.query(`DROP TABLE ${staged}`);
  return rowCount ?? 0;
}

/** The rows of `ticks` in COPY's binary form, made as they are asked for. */
export function* copyChunks(table: PerTickTable, ticks: Iterable<TickData>): Generator<Buffer> {
  const { rowBytesMax, stride, columns, encode } = table;
  const copy = new BinaryCopy(rowBytesMax);
  for (const tick of ticks) {
    const words = table.wordsOf(packTick(tick));
    const [low, high] = [lowHalf(tick.tickNumber), highHalf(tick.tickNumber)];
    for (let at = 0; at < words.length; at += stride) {
      if (copy.isFull) yield copy.take();
      copy.row(columns.length);
      copy.int8(low, high);
      encode(copy, words, at);
    }
  }
  yield copy.end();
}

/** Each tick once: a file that was delivered twice may be buffered twice. */
export function distinctTicks(ticks: readonly TickData[]): TickData[] {
  return [...new Map(ticks.map((tick) => [tick.tickNumber, tick])).values()];
}

function copyText(target: string, table: PerTickTable): string {
  return `COPY ${target} (${table.columns.join(", ")}) FROM STDIN (FORMAT binary)`;
}
