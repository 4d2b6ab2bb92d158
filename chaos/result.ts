import type { MemoryPeaks } from "./fleet/memory-watch.ts";
import type { Deaths } from "./fleet/process-slot.ts";
import { type Invariant, invariants, type Violation } from "./judge/violation.ts";

/** What a chaos run came to. */
export interface ChaosResult {
  /** How many faults struck. */
  readonly faults: number;
  readonly byKind: Readonly<Record<string, number>>;
  /** Faults that found nothing to hit, and those that can't be done here, with the reason. */
  readonly missed: number;
  readonly skipped: Readonly<Record<string, string>>;
  readonly lost: number;
  readonly doubled: number;
  readonly invariants: { readonly passed: number; readonly failed: number };
  readonly seed: number;
  readonly minutes: number;
  readonly topics: "postgres" | "nats";
  readonly parts: readonly string[];
  /** What had not come to rest in time. */
  readonly unsettled: readonly string[];
  /** How much was judged: commands, batches, fires, ticks, files. */
  readonly judged: Readonly<Record<string, number>>;
  /** How processes ended. */
  readonly deaths: Deaths;
  /** What those said that ended by themselves in the middle of their work; others take their place. */
  readonly lastWords: readonly string[];
  /** The most memory of one process, by role. */
  readonly memoryMegabytes: MemoryPeaks;
  /** What was found wrong; of each broken invariant at least one. */
  readonly violations: readonly Violation[];
}

/** No process may need more, whatever load it gets. */
export const memoryMegabytesMax = 320;

/** Of many violations of one invariant, the first are enough to look into. */
const shownPerInvariant = 10;

/** What a verdict is made of. */
export type Verdict = Omit<ChaosResult, "lost" | "doubled" | "invariants">;

/** Counts what was found wrong. */
export function resultOf(verdict: Verdict): ChaosResult {
  const { violations } = verdict;
  const all = Object.keys(invariants) as Invariant[];
  const failed = all.filter((invariant) => violations.some((one) => one.invariant === invariant));
  const count = (kind: Violation["kind"]) => violations.filter((one) => one.kind === kind).length;
  return {
    ...verdict,
    lost: count("lost"),
    doubled: count("doubled"),
    invariants: { passed: all.length - failed.length, failed: failed.length },
    violations: all.flatMap((invariant) =>
      violations.filter((one) => one.invariant === invariant).slice(0, shownPerInvariant),
    ),
  };
}

/** The names of those that do not hold. */
export function brokenInvariants({ violations }: ChaosResult): Invariant[] {
  return [...new Set(violations.map(({ invariant }) => invariant))];
}

/** How many things are wrong. */
export function failuresOf({ violations, unsettled, memoryMegabytes }: ChaosResult): number {
  const tooLarge = Object.values(memoryMegabytes).filter((peak) => peak > memoryMegabytesMax);
  return violations.length + unsettled.length + tooLarge.length;
}

/** Whether nothing is wrong. */
export function isGreen(result: ChaosResult): boolean {
  return failuresOf(result) === 0;
}

/** The result for people. */
export function summaryOf(result: ChaosResult): string {
  const {
    faults,
    byKind,
    missed,
    skipped,
    lost,
    doubled,
    invariants: found,
    seed,
    minutes,
    judged,
    deaths,
  } = result;
  const list = (record: Readonly<Record<string, unknown>>) =>
    Object.entries(record)
      .map(([name, value]) => `${name} ${value}`)
      .join(", ");
  return [
    `${faults} faults in ${minutes} min (seed ${seed}, topics on ${result.topics}); ${missed} found nothing to hit`,
    `  ${list(byKind)}`,
    ...Object.entries(skipped).map(([name, reason]) => `  ${name} was skipped: ${reason}`),
    `  processes: ${list(deaths as unknown as Record<string, number>)}`,
    ...result.lastWords.map((words) => `    ${words}`),
    `  judged: ${list(judged)}`,
    `  memory of a process at most (MB, of ${memoryMegabytesMax}): ${list(result.memoryMegabytes)}`,
    ...result.unsettled.map((what) => `  not settled: ${what}`),
    ...result.violations.map(({ invariant, kind, what }) => `  ${invariant} ${kind}: ${what}`),
    `lost ${lost}, doubled ${doubled}, invariants ${found.passed}/${found.passed + found.failed}`,
  ].join("\n");
}
