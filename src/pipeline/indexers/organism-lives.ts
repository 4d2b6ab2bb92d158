import type { TickData } from "../../contracts/index.ts";
import { hasDeath, hasParent, int64Of, organismWord, organismWords, packTick } from "../ticks/packed-tick.ts";

/** What ticks tell about the life of one organism. */
export interface OrganismLife {
  readonly organismId: bigint;
  readonly birthTick: bigint;
  readonly parentId: bigint | undefined;
  readonly deathTick: bigint | undefined;
}

/**
 * The life of every organism that `ticks` show, each once. What several ticks say is joined by the rule
 * of the table `organisms`: the earliest birth, the greatest parent id, the earliest death. Ticks of one
 * run agree on all three, and the rule does not mind order or repetition.
 */
export function organismLives(ticks: readonly TickData[]): OrganismLife[] {
  const sightings = new Map<number | bigint, Sighting>();
  for (const tick of ticks) {
    const words = packTick(tick).organismWords;
    for (let at = 0; at < words.length; at += organismWords) see(sightings, words, at);
  }
  return [...sightings.values()].map(({ life }) => life);
}

/** The latest row that told something new of an organism, and what is known with it. */
interface Sighting {
  readonly words: Int32Array;
  readonly at: number;
  readonly life: OrganismLife;
}

/** Most rows repeat what the tick before said: they cost a look-up and a comparison, and no object. */
function see(sightings: Map<number | bigint, Sighting>, words: Int32Array, at: number): void {
  const key = keyOf(words[at + organismWord.idLow] as number, words[at + organismWord.idHigh] as number);
  const known = sightings.get(key);
  if (known && isSameLife(known.words, known.at, words, at)) return;
  const life = lifeAt(words, at);
  sightings.set(key, { words, at, life: known ? join(known.life, life) : life });
}

/** A number where it is exact: bigint keys cost several times as much. */
function keyOf(low: number, high: number): number | bigint {
  return high === 0 ? low >>> 0 : int64Of(low, high);
}

function isSameLife(a: Int32Array, aAt: number, b: Int32Array, bAt: number): boolean {
  for (let word: number = organismWord.parentLow; word <= organismWord.deathHigh; word++)
    if (a[aAt + word] !== b[bAt + word]) return false;
  return a[aAt + organismWord.present] === b[bAt + organismWord.present];
}

function lifeAt(words: Int32Array, at: number): OrganismLife {
  const int64 = (word: number) => int64Of(words[at + word] as number, words[at + word + 1] as number);
  const present = words[at + organismWord.present] as number;
  return {
    organismId: int64(organismWord.idLow),
    birthTick: int64(organismWord.birthLow),
    parentId: present & hasParent ? int64(organismWord.parentLow) : undefined,
    deathTick: present & hasDeath ? int64(organismWord.deathLow) : undefined,
  };
}

function join(a: OrganismLife, b: OrganismLife): OrganismLife {
  return {
    organismId: a.organismId,
    birthTick: a.birthTick < b.birthTick ? a.birthTick : b.birthTick,
    parentId: oneOf(a.parentId, b.parentId, (left, right) => left > right),
    deathTick: oneOf(a.deathTick, b.deathTick, (left, right) => left < right),
  };
}

function oneOf(
  a: bigint | undefined,
  b: bigint | undefined,
  isPreferred: (a: bigint, b: bigint) => boolean,
): bigint | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return isPreferred(a, b) ? a : b;
}
