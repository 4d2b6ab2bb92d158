import type { TickData } from "../../../contracts/index.ts";
import type { Transaction } from "../../../database/index.ts";
import { cellWord, cellWords } from "../../ticks/packed-tick.ts";
import { copyRows, mergeRows, type PerTickTable } from "./per-tick-table.ts";

/** `environment_data`: the cells of each tick that were not empty. */
export const environmentData: PerTickTable = {
  name: "environment_data",
  columns: ["tick_number", "cell_id", "owner", "x", "y", "value", "state"],
  rowBytesMax: 2 + 3 * 12 + 4 * 8,
  wordsOf: (tick) => tick.cellWords,
  stride: cellWords,
  encode(copy, words, at) {
    const ownerLow = words[at + cellWord.ownerLow] as number;
    const ownerHigh = words[at + cellWord.ownerHigh] as number;
    copy.int8(words[at + cellWord.cellId] as number, 0);
    if (ownerLow === 0 && ownerHigh === 0) copy.null();
    else copy.int8(ownerLow, ownerHigh);
    copy.uint4(words[at + cellWord.x] as number, "x");
    copy.uint4(words[at + cellWord.y] as number, "y");
    copy.int4(words[at + cellWord.value] as number);
    copy.int4(words[at + cellWord.state] as number);
  },
};

/** Appends the cells of ticks that are indexed for the first time; see {@link copyRows}. */
export function copyEnvironmentData(tx: Transaction, ticks: readonly TickData[]): Promise<number> {
  return copyRows(tx, environmentData, ticks);
}

/** Adds the cells that are missing; see {@link mergeRows}. */
export function mergeEnvironmentData(tx: Transaction, ticks: readonly TickData[]): Promise<number> {
  return mergeRows(tx, environmentData, ticks);
}
