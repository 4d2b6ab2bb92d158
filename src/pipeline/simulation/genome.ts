import { type RandomState, randomBelow } from "./random.ts";

/**
 * What an organism's behaviour depends on: weights from 0 to {@link geneMax}.
 *
 * A gene is never good by itself: who digests remains well digests plants badly, who fights burns more,
 * who breeds late leaves stronger children.
 */
export type Genome = Readonly<Record<Gene, number>>;

/** Names of the weights. */
export type Gene = (typeof geneNames)[number];

const geneNames = [
  /** Turns towards plants. */
  "grazing",
  /** Turns towards remains, and digests them instead of plants. */
  "scavenging",
  /** Goes on in the direction of its last step. */
  "persistence",
  /** Wanders. */
  "restlessness",
  /** Follows the light. */
  "warmth",
  /** Attacks those of other species. */
  "aggression",
  /** Saves energy before it breeds. */
  "patience",
] as const;

/** The largest weight. */
export const geneMax = 127;
const mutationMax = 24;
/** One birth in so many changes a gene. */
const birthsPerMutation = 2;
const speciesDistance = 48;

/** A genome by chance. */
export function randomGenome(random: RandomState): Genome {
  return genomeOf(() => randomBelow(random, geneMax + 1));
}

/** A parent's genome, now and then with one weight changed. */
export function inherit(random: RandomState, parent: Genome): Genome {
  if (randomBelow(random, birthsPerMutation) > 0) return parent;
  const gene = geneNames[randomBelow(random, geneNames.length)] ?? "grazing";
  const changed = parent[gene] + randomBelow(random, 2 * mutationMax + 1) - mutationMax;
  return { ...parent, [gene]: Math.min(geneMax, Math.max(0, changed)) };
}

/** The species that an organism belongs to: its parent's, unless it differs too much from it. */
export function speciesOf(genome: Genome, parentSpecies: Genome): Genome {
  let distance = 0;
  for (const gene of geneNames) distance += Math.abs(genome[gene] - parentSpecies[gene]);
  return distance > speciesDistance ? genome : parentSpecies;
}

function genomeOf(weight: () => number): Genome {
  return Object.fromEntries(geneNames.map((gene) => [gene, weight()])) as Genome;
}
