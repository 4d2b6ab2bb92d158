/**
 * The judge: compares what the processes of a chaos run wrote down with what the database, the files and the
 * judge's own observers show. It shares no code with the product: its SQL, its reader of batch files and its
 * arithmetic of schedules and ticks are its own, so that a mistake in the product is not made here again.
 */

import type { Facts } from "./facts.ts";
import { checkAccounted } from "./invariants/i1-accounted.ts";
import { checkOnce } from "./invariants/i2-once.ts";
import { checkBatches } from "./invariants/i3-batches.ts";
import { checkTerms } from "./invariants/i4-terms.ts";
import { checkSegments } from "./invariants/i5-segments.ts";
import { checkTicks } from "./invariants/i6-ticks.ts";
import { checkFiles } from "./invariants/i7-files.ts";
import { checkAudit } from "./invariants/i8-audit.ts";
import type { Violation } from "./violation.ts";

/** Everything that is wrong with these facts. */
export function judge(facts: Facts): Violation[] {
  return [
    checkAccounted,
    checkOnce,
    checkBatches,
    checkTerms,
    checkSegments,
    checkTicks,
    checkFiles,
    checkAudit,
  ].flatMap((check) => check(facts));
}
