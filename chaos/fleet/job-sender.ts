import { setTimeout as sleep } from "node:timers/promises";
import { isTallymanError, type JobStore } from "../../src/index.ts";
import { openLog, settings } from "./child-kit.ts";
import { names } from "./plan.ts";

const againMs = 200;
const startInMs = 1_000;
const jobCount = 24;

/** Jobs at many intervals, which must fire at each of their times, about as long as faults strike. */
export async function createJobs(jobs: JobStore): Promise<void> {
  const log = openLog();
  const startAt = new Date(Date.now() + startInMs);
  const endAt = new Date(startAt.getTime() + settings.faultMs);
  const list = Array.from({ length: jobCount }, (_, n) => ({
    key: `every-${n}`,
    schedule: { everyMs: 400 + n * 70 },
    command: { domain: names.jobDomain, commandType: "Effect", data: {} },
    fireField: "fire",
    misfirePolicy: "FIRE_ALL" as const,
    startAt,
    endAt,
  }));
  for (const { key, schedule } of list)
    log.write({ job: key, everyMs: schedule.everyMs, startAt, endAt, life: settings.life });
  while (!(await areThere(jobs.createMany(list)))) await sleep(againMs);
  for (const { key } of list) log.write({ jobAccepted: key });
}

async function areThere(creating: Promise<unknown>): Promise<boolean> {
  return creating.then(
    () => true,
    (error: unknown) => isTallymanError(error, "JOB_EXISTS"),
  );
}
