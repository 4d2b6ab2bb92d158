import { setTimeout as sleep } from "node:timers/promises";
import type { Fault, FaultOutcome } from "./faults/fault.ts";
import type { Stage } from "./fleet/stage.ts";
import type { Strike } from "./schedule.ts";

/** What became of the faults of a schedule. */
export interface StrikeCounts {
  readonly byKind: Record<string, number>;
  missed: number;
  readonly skipped: Record<string, string>;
}

/** Carries a schedule out: each fault at its time, whether or not those before it are over. Waits for the last. */
export async function strikeAll(
  stage: Stage,
  faults: readonly Fault[],
  schedule: readonly Strike[],
  tell: (line: string) => void,
): Promise<StrikeCounts> {
  const byName = new Map(faults.map((fault) => [fault.name, fault]));
  const counts: StrikeCounts = { byKind: {}, missed: 0, skipped: {} };
  const startMs = performance.now();
  const strikes = schedule.map(async (strike) => {
    await sleep(strike.atMs);
    const outcome = await (byName.get(strike.fault)?.inject(stage, strike) ?? "missed");
    count(counts, strike.fault, outcome);
    const second = ((performance.now() - startMs) / 1_000).toFixed(1).padStart(6);
    tell(
      `${second} s  ${strike.fault} ${strike.target}: ${typeof outcome === "string" ? outcome : "skipped"}`,
    );
  });
  await Promise.all(strikes);
  return counts;
}

function count(counts: StrikeCounts, fault: string, outcome: FaultOutcome): void {
  if (outcome === "done") counts.byKind[fault] = (counts.byKind[fault] ?? 0) + 1;
  else if (outcome === "missed") counts.missed++;
  else counts.skipped[fault] = outcome.skipped;
}
