import type { TickData } from "../../../contracts/index.ts";
import type { Transaction } from "../../../database/index.ts";
import { organismWord, organismWords } from "../../ticks/packed-tick.ts";
import { copyRows, mergeRows, type PerTickTable } from "./per-tick-table.ts";

/** `organism_data`: where each organism was at each tick, and how it fared. */
export const organismData: PerTickTable = {
  name: "organism_data",
  columns: ["tick_number", "organism_id", "x", "y", "energy", "age"],
  rowBytesMax: 2 + 2 * 12 + 4 * 8,
  wordsOf: (tick) => tick.organismWords,
  stride: organismWords,
  encode(copy, words, at) {
    copy.int8(words[at + organismWord.idLow] as number, words[at + organismWord.idHigh] as number);
    copy.uint4(words[at + organismWord.x] as number, "x");
    copy.uint4(words[at + organismWord.y] as number, "y");
    copy.int4(words[at + organismWord.energy] as number);
    copy.int4(words[at + organismWord.age] as number);
  },
};

/** Appends the organisms' states of ticks that are indexed for the first time; see {@link copyRows}. */
export function copyOrganismData(tx: Transaction, ticks: readonly TickData[]): Promise<number> {
  return copyRows(tx, organismData, ticks);
}

/** Adds the organisms' states that are missing; see {@link mergeRows}. */
export function mergeOrganismData(tx: Transaction, ticks: readonly TickData[]): Promise<number> {
  return mergeRows(tx, organismData, ticks);
}
