import type { TickData } from "../../contracts/index.ts";
import { hasDeath, highHalf, lowHalf, organismWord, organismWords, packTick } from "../ticks/packed-tick.ts";

/** What is counted in one tick. */
export interface TickStatistics {
  readonly tickNumber: bigint;
  /** Organisms that live. */
  readonly population: number;
  /** Organisms born since the sampled tick before, also those that died since. */
  readonly births: number;
  /** Organisms that died since the sampled tick before. */
  readonly deaths: number;
  /** Cells that are not empty. */
  readonly cells: number;
  /** Energy of those that live. */
  readonly totalEnergy: number;
  /** Absent when nobody lives. */
  readonly meanEnergy: number | undefined;
}

/**
 * Counts one tick.
 *
 * @param samplingInterval - the run's: a birth counts when it is later than the sampled tick before
 */
export function tickStatistics(tick: TickData, samplingInterval: number): TickStatistics {
  const packed = packTick(tick);
  const words = packed.organismWords;
  const sampledBefore = tick.tickNumber - BigInt(samplingInterval);
  const [low, high] = [lowHalf(sampledBefore), highHalf(sampledBefore)];
  let [deaths, births, totalEnergy] = [0, 0, 0];
  for (let at = 0; at < words.length; at += organismWords) {
    if ((words[at + organismWord.present] as number) & hasDeath) deaths += 1;
    else totalEnergy += words[at + organismWord.energy] as number;
    if (isBornAfter(words, at, low, high)) births += 1;
  }
  const population = packed.organismCount - deaths;
  const meanEnergy = population === 0 ? undefined : totalEnergy / population;
  const { tickNumber } = tick;
  return { tickNumber, population, births, deaths, cells: packed.cellCount, totalEnergy, meanEnergy };
}

/** Compares by halves: a bigint for each organism would cost more than all the rest. */
function isBornAfter(words: Int32Array, at: number, low: number, high: number): boolean {
  const birthHigh = words[at + organismWord.birthHigh] as number;
  if (birthHigh !== high) return birthHigh > high;
  return (words[at + organismWord.birthLow] as number) >>> 0 > low >>> 0;
}
