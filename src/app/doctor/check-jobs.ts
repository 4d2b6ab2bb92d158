import type { Tallyman } from "../tallyman.ts";
import { type Finding, ok, warning } from "./finding.ts";

/** Scheduler workers fire within a second or two; more says that there are none, or too few. */
const overdueMsMax = 60_000;

/** Jobs that are parked or overdue do not do their work. */
export async function checkJobs({ scheduler }: Tallyman): Promise<Finding> {
  const name = "jobs";
  const { parked, overdueMs } = await scheduler.jobs.health();
  const behind = overdueMs === null ? "none is due" : `the oldest due one waits ${Math.round(overdueMs)} ms`;
  const found = `${parked} parked; ${behind}`;
  if (parked > 0)
    return warning(
      name,
      found,
      "Look at 'tallyman job list --status PARKED', repair and 'tallyman job resume'.",
    );
  if ((overdueMs ?? 0) > overdueMsMax)
    return warning(
      name,
      found,
      "Start a 'tallyman scheduler-worker', or more of them; 'tallyman segments' shows who owns what.",
    );
  return ok(name, found);
}
