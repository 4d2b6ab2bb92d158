import type { GivenOptions } from "../runtime/index.ts";
import type { JobChanges, JobDefinition } from "./job.ts";
import { type Payload, refuseUnrepeatable, timesOf } from "./job-definition.ts";
import { firstTime } from "./job-info.ts";
import { jitterOf, nextAfter, type Times } from "./schedule.ts";
import type { JobToStore, StoredJob } from "./sql/job.ts";

/** What an update names. Undefined names nothing; null takes a setting away: it is as if it had never been given. */
export function namedChanges(changes: JobChanges): GivenOptions<JobDefinition> {
  const named = Object.entries(changes).filter(([, value]) => value !== undefined);
  return Object.fromEntries(named.map(([name, value]) => [name, value ?? undefined]));
}

/** A definition whose payload was replaced has no trace of the kind that it had before. */
export function withOneTarget(merged: JobDefinition, { command, batch }: JobChanges): JobDefinition {
  const { command: _command, batch: _batch, ...rest } = merged;
  return { ...rest, ...(command && { command }), ...(batch && { batch }) };
}

export function keptPayload(
  { target, domain, batchName, commands }: StoredJob,
  fireField: string | null,
): Omit<Payload, "commands"> & { readonly commands: null } {
  if (fireField !== null) {
    for (const command of commands ?? []) refuseUnrepeatable(JSON.parse(command), fireField);
  }
  return { target, domain, batchName, fireField, commands: null };
}

/** The times after an update; without a new schedule or start they are as before, up to the end that is given. */
export function changedTimes(
  job: StoredJob,
  merged: JobDefinition,
  { schedule, startAt }: JobChanges,
  nowMs: number,
): { readonly times: Times; readonly isNew: boolean } {
  const isNew = schedule !== undefined || startAt !== undefined;
  const endMs = merged.endAt?.getTime() ?? null;
  return { times: isNew ? timesOf(merged, nowMs) : { ...job, endMs }, isNew };
}

/** The next time after an update. A job that had none left goes on with the first to come, if its limits allow one. */
export function nextOf(
  job: StoredJob,
  { times, isNew }: { readonly times: Times; readonly isNew: boolean },
  nowMs: number,
): { readonly times: Times; readonly nextFireMs: number | null } {
  if (!isNew) return { times, nextFireMs: keptNext(job, times, nowMs) };
  const first = firstTime(times, nowMs);
  const isRepeated = first !== null && job.lastFireMs !== null && first <= job.lastFireMs;
  return { times, nextFireMs: isRepeated ? nextAfter(times, job.lastFireMs ?? first) : first };
}

function keptNext({ nextFireMs, lastFireMs }: StoredJob, times: Times, nowMs: number): number | null {
  if (nextFireMs === null) return nextAfter(times, Math.max(nowMs, lastFireMs ?? nowMs));
  return times.endMs === null || nextFireMs < times.endMs ? nextFireMs : null;
}

export function toStore(
  jobKey: string,
  definition: JobDefinition,
  payload: Omit<Payload, "commands"> & { readonly commands: readonly string[] | null },
  { times, nextFireMs: given }: { readonly times: Times; readonly nextFireMs: number | null },
  before?: StoredJob,
): JobToStore {
  const { enabled, jitterMs, maxFires = null } = definition;
  const { misfirePolicy, misfireGraceMs, catchUpWindowMs, overlapPolicy } = definition;
  const { kind, anchorMs, everyMs, cron, timeZone, startMs, endMs } = times;
  const firesLeft = maxFires === null ? null : Math.max(0, maxFires - (before?.fireCount ?? 0));
  const nextFireMs = firesLeft === 0 ? null : given;
  const mayFire = enabled && nextFireMs !== null && (before?.pausedMs ?? null) === null;
  const dueMs = mayFire ? nextFireMs + jitterOf({ jitterMs, jobKey }, nextFireMs) : null;
  const schedule = { kind, anchorMs, everyMs, cron, timeZone, startMs, endMs };
  const policies = { misfirePolicy, misfireGraceMs, catchUpWindowMs, overlapPolicy };
  return {
    jobKey,
    ...schedule,
    ...policies,
    ...payload,
    enabled,
    jitterMs,
    maxFires,
    firesLeft,
    nextFireMs,
    dueMs,
  };
}
