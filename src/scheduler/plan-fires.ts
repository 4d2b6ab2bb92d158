import { newCommandId } from "../commands/index.ts";
import { planFire } from "./schedule.ts";
import type { DueJob, Fire, SeenJob } from "./sql/fire.ts";

/** What to do about due jobs. */
export interface PlannedFires {
  readonly fires: readonly Fire[];
  /** Jobs whose times can't be told here: this Node does not know their zone, or nobody can read their schedule. */
  readonly failures: readonly { readonly job: SeenJob; readonly error: unknown }[];
}

/** Decides about each job by itself: one that can't be planned keeps no other from firing. */
export function planFires(due: readonly DueJob[]): PlannedFires {
  const fires: Fire[] = [];
  const failures: { job: SeenJob; error: unknown }[] = [];
  for (const job of due) {
    const { jobId, revision, nextFireMs: expectedMs, avoidsOverlap } = job;
    const seen = { jobId, revision, expectedMs };
    try {
      fires.push({ ...seen, ...planFire(job, job.nowMs), avoidsOverlap, runId: newCommandId() });
    } catch (error) {
      failures.push({ job: seen, error });
    }
  }
  return { fires, failures };
}
