import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Part } from "../fleet/plan.ts";
import type { Invariant } from "../judge/violation.ts";
import type { ChaosOptions } from "../options.ts";
import { brokenInvariants, type ChaosResult } from "../result.ts";
import { runChaos } from "../run.ts";
import { type Mutant, mutants } from "./mutants.ts";

/** A short run on a small fleet, with the faults that matter alone. */
const shortRun = {
  minutes: 0.1,
  seed: 7,
  everyMs: 400,
  topics: "postgres",
  size: "small",
  keep: false,
} as const;
/** A mutant may never come to rest; the product must. */
const settleMs = { mutant: 5_000, product: 60_000 };

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
  const { name, parts, faults, breaks } = mutant;
  const patch = fileURLToPath(new URL(`${name}.patch`, import.meta.url));
  const [what = ""] = (await readFile(patch, "utf8")).split("\n");
  const { result, seconds } = await timed({ parts, faults, patch, settleMs: settleMs.mutant }, options);
  const broken = brokenInvariants(result);
  const isSeen = breaks.some((invariant) => broken.includes(invariant));
  options.tell(
    `${isSeen ? "red  " : "GREEN"} ${name} (${seconds} s): ${broken.join(", ") || "nothing was found"}`,
  );
  const example = result.violations.find(({ invariant }) => breaks.includes(invariant));
  if (example) options.tell(`      ${example.what}`);
  return { name, what, isSeen, broken, seconds };
}

/** Whether the product without a bug holds what the mutants of its parts break, under their faults. */
async function isWell(options: MutantsOptions): Promise<boolean> {
  let isGreen = true;
  for (const part of ["commands", "scheduler", "pipeline"] as const) {
    const ofPart = mutants.filter(({ parts }) => parts.includes(part));
    const faults = [...new Set(ofPart.flatMap((mutant) => mutant.faults))];
    const { result, seconds } = await timed(
      { parts: [part], faults, patch: undefined, settleMs: settleMs.product },
      options,
    );
    const broken = brokenInvariants(result);
    if (broken.length > 0) isGreen = false;
    options.tell(
      `${broken.length > 0 ? "RED  " : "green"} ${part} without a bug (${seconds} s): ${broken.join(", ") || "nothing was found"}`,
    );
  }
  return isGreen;
}

type Trial = Pick<ChaosOptions, "faults" | "patch" | "settleMs"> & { readonly parts: readonly Part[] };

async function timed(
  trial: Trial,
  { signal }: MutantsOptions,
): Promise<{ result: ChaosResult; seconds: number }> {
  const startedMs = performance.now();
  const { result } = await runChaos({ ...shortRun, ...trial }, () => undefined, signal);
  return { result, seconds: Math.round((performance.now() - startedMs) / 1_000) };
}
