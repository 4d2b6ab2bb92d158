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
    try {
      fires.push(fireOf(job));
    } catch (error) {
      failures.push({ job: seen(job), error });
    }
  }
  return { fires, failures };
}

/** Name by name: two objects spread into a third cost more than everything else that is done for a fire. */
function fireOf(job: DueJob): Fire {
  const { jobId, revision, expectedMs } = seen(job);
  const { fireMs, missedUntilMs, nextMs, dueMs } = planFire(job, job.nowMs);
  const { avoidsOverlap } = job;
  const runId = newCommandId();
  return { jobId, revision, expectedMs, fireMs, nextMs, dueMs, missedUntilMs, avoidsOverlap, runId };
}

function seen({ jobId, revision, nextFireMs: expectedMs }: DueJob): SeenJob {
  return { jobId, revision, expectedMs };
}
