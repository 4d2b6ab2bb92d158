import { type Database, runSchemaName } from "../database/index.ts";
import type { ExpectedRange } from "./batch-coordinator.ts";
import { type TickClass, tickRanges } from "./sql/tick-account.ts";

/** Every expected tick of a run, accounted for: how many are in each class, and where. */
export interface TickAccount {
  readonly expected: number;
  readonly counts: Readonly<Record<TickClass, number>>;
  /** Expected ticks that are in no class: zero after a reconciliation. */
  readonly unaccounted: number;
  /** In tick order; both bounds belong to a range. */
  readonly ranges: readonly { tickClass: TickClass | "missing"; start: number; end: number }[];
}

/**
 * Accounts for every expected tick of an indexer class: indexed, in flight, failed, pending gap or
 * permanent gap, each in exactly one of them.
 *
 * @example
 * ```ts
 * const { counts, unaccounted } = await accountForTicks(database, "run-1", "DummyIndexer", { samplingInterval: 10 });
 * ```
 */
export async function accountForTicks(
  database: Database,
  runId: string,
  indexerClass: string,
  { samplingInterval, start = 0, declaredEnd }: ExpectedRange,
): Promise<TickAccount> {
  const executor = database.forRun(runSchemaName(runId));
  const expected = { samplingInterval, start, declaredEnd: declaredEnd ?? null };
  const ranges = await tickRanges(executor, indexerClass, expected);
  const counts = { indexed: 0, in_flight: 0, failed: 0, pending: 0, permanent: 0, missing: 0 };
  for (const range of ranges) counts[range.tickClass] += ticksIn(range, samplingInterval);
  const { missing, ...classes } = counts;
  return {
    expected: Object.values(counts).reduce((sum, count) => sum + count),
    counts: classes,
    unaccounted: missing,
    ranges,
  };
}

function ticksIn({ start, end }: { start: number; end: number }, samplingInterval: number): number {
  return Math.floor((end - start) / samplingInterval) + 1;
}
