import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parts } from "../fleet/plan.ts";
import type { Invariant } from "../judge/violation.ts";
import type { ChaosOptions } from "../options.ts";
import { brokenInvariants, type ChaosResult } from "../result.ts";
import { runChaos } from "../run.ts";
import { type Mutant, mutants } from "./mutants.ts";

/** A short run on a small fleet, with the faults that matter alone. */
const shortRun = { seed: 7, everyMs: 400, topics: "postgres", size: "small", keep: false } as const;
/** A bug that was not seen at first gets more time: on a busy machine little happens in a few seconds. */
const minutesTried = [0.1, 0.3, 1] as const;
/** A mutant may never come to rest; the product must. */
const restMs = { mutant: 5_000, product: 60_000 };

/** Who is told what, and what ends it all. */
export interface MutantsOptions {
  tell(line: string): void;
  readonly signal?: AbortSignal;
}

/** What became of planted bugs. */
export interface MutantsResult {
  readonly mutants: readonly Sighting[];
  /** Whether the product without a bug held under the same faults; undefined when it was not tried. */
  readonly isProductWell: boolean | undefined;
}

/** What the judge saw of a planted bug. */
export interface Sighting {
  readonly name: string;
  /** What is wrong, in a sentence. */
  readonly what: string;
  /** Whether what it must break was found broken. */
  readonly isSeen: boolean;
  readonly broken: readonly Invariant[];
  readonly seconds: number;
}

/** Whether every bug was seen, and nothing in the product. */
export function areAllSeen({ mutants: sightings, isProductWell }: MutantsResult): boolean {
  return isProductWell !== false && sightings.every(({ isSeen }) => isSeen);
}

/**
 * Plants the bugs, one after the other, each in a copy of the product, and runs a short chaos on it. Of all of
 * them together, the product itself is tried too, by the same faults: what turns a run red must be the bug.
 *
 * @param names of mutants; none: all
 */
export async function runMutants(names: readonly string[], options: MutantsOptions): Promise<MutantsResult> {
  const chosen = names.length === 0 ? mutants : names.map(mutantNamed);
  const sightings: Sighting[] = [];
  for (const mutant of chosen) sightings.push(await look(mutant, options));
  return { mutants: sightings, isProductWell: names.length === 0 ? await isWell(options) : undefined };
}

function mutantNamed(name: string): Mutant {
  const mutant = mutants.find((one) => one.name === name);
  if (mutant) return mutant;
  throw new Error(`There is no mutant '${name}'; there are ${mutants.map((one) => one.name).join(", ")}.`);
}

async function look(mutant: Mutant, options: MutantsOptions): Promise<Sighting> {
  const { name, breaks } = mutant;
  const startedMs = performance.now();
  const patch = fileURLToPath(new URL(`${name}.patch`, import.meta.url));
  const [what = ""] = (await readFile(patch, "utf8")).split("\n");
  let example: string | undefined;
  let broken: Invariant[] = [];
  for (const minutes of minutesTried) {
    const result = await tryOut({ ...mutant, minutes, patch, settleMs: restMs.mutant }, options);
    broken = brokenInvariants(result);
    example = result.violations.find(({ invariant }) => breaks.includes(invariant))?.what;
    if (example !== undefined) break;
  }
  const isSeen = example !== undefined;
  const seconds = secondsSince(startedMs);
  options.tell(`${isSeen ? "red  " : "GREEN"} ${name} (${seconds} s): ${broken.join(", ")}`);
  options.tell(`      ${example ?? "what it must break is whole"}`);
  return { name, what, isSeen, broken, seconds };
}

/** Whether the product holds everything under the faults of the mutants, part by part. */
async function isWell(options: MutantsOptions): Promise<boolean> {
  let isWhole = true;
  for (const part of parts) {
    const startedMs = performance.now();
    const ofPart = mutants.filter((mutant) => mutant.parts.includes(part));
    const faults = [...new Set(ofPart.flatMap((mutant) => mutant.faults))];
    const trial = { parts: [part], faults, patch: undefined, settleMs: restMs.product };
    const broken = brokenInvariants(await tryOut({ ...trial, minutes: minutesTried[0] }, options));
    if (broken.length > 0) isWhole = false;
    const verdict = broken.length > 0 ? `RED   ${part}` : `green ${part}`;
    options.tell(`${verdict} without a bug (${secondsSince(startedMs)} s): ${broken.join(", ")}`);
  }
  return isWhole;
}

type Trial = Pick<ChaosOptions, "parts" | "faults" | "patch" | "minutes" | "settleMs">;

async function tryOut(trial: Trial, { signal }: MutantsOptions): Promise<ChaosResult> {
  const { parts: wanted, faults, patch, minutes, settleMs } = trial;
  const options = { ...shortRun, parts: wanted, faults, patch, minutes, settleMs };
  const { result } = await runChaos(options, () => undefined, signal);
  return result;
}

function secondsSince(startedMs: number): number {
  return Math.round((performance.now() - startedMs) / 1_000);
}
