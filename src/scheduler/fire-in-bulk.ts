import { type Executor, errorCodeOf } from "../database/index.ts";
import { type Fire, type Fired, fireJobs, parkJob, type SeenJob } from "./sql/fire.ts";
import type { SegmentGrant } from "./worker-info.ts";

/** Who fires, and by which right. */
export interface Firing {
  readonly workerId: string;
  readonly grants: readonly SegmentGrant[];
  readonly onFired: (fired: Fired, fires: readonly Fire[]) => void;
  readonly onParked: (job: SeenJob, error: unknown) => void;
}

/**
 * Fires all these jobs, each exactly once or not at all. When the bulk fails over one of them, halves find out
 * which: it is parked with its error, and the rest fire.
 *
 * @throws what is no job's fault: a lost connection, a full disk
 */
export async function fireInBulk(executor: Executor, firing: Firing, fires: readonly Fire[]): Promise<void> {
  const { workerId, grants, onFired } = firing;
  try {
    onFired(await fireJobs(executor, workerId, grants, fires), fires);
  } catch (error) {
    if (!isFaultOfJob(error)) throw error;
    const [fire, second] = fires;
    if (fire && !second) return parkFailed(executor, firing, fire, error);
    const half = Math.ceil(fires.length / 2);
    await fireInBulk(executor, firing, fires.slice(0, half));
    await fireInBulk(executor, firing, fires.slice(half));
  }
}

/** Parks a job that can't be fired with its error, unless it was changed meanwhile or is held. */
export async function parkFailed(
  executor: Executor,
  firing: Firing,
  job: SeenJob,
  error: unknown,
): Promise<void> {
  const { workerId, grants, onParked } = firing;
  const failure = { code: errorCodeOf(error) ?? "INTERNAL", message: (error as Error).message };
  if (await parkJob(executor, workerId, grants, job, failure)) onParked(job, error);
}

/**
 * Errors that a payload can cause: data exceptions, violated constraints, raised by a function or trigger,
 * limits of the program. Anything else would hit every job.
 */
const faultOfJob = /^(?:22|23|54|P0|TM)/;

function isFaultOfJob(error: unknown): boolean {
  return faultOfJob.test(errorCodeOf(error) ?? "");
}
