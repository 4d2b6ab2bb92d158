import type { GivenOptions } from "../runtime/index.ts";
import type { JobCommand, JobDefinition, JobInfo } from "./job.ts";
import { nextAfter, type Schedule, type Times } from "./schedule.ts";
import type { StoredJob } from "./sql/job.ts";

/** The first time of a job that is stored at `nowMs`. One that was to fire once before keeps its time: its misfire policy decides. */
export function firstTime(times: Times, nowMs: number): number | null {
  return nextAfter(times, times.kind === "ONCE" ? Number.NEGATIVE_INFINITY : nowMs);
}

/** A stored job as its users see it. */
export function infoOf(job: StoredJob): JobInfo {
  return {
    key: job.jobKey,
    status: job.status,
    schedule: scheduleOf(job),
    target: job.target,
    domain: job.domain,
    commandCount: job.commandCount,
    batchName: job.batchName,
    fireField: job.fireField,
    segmentId: job.segmentId,
    enabled: job.enabled,
    startAt: dateOf(job.startMs),
    endAt: dateOf(job.endMs),
    maxFires: job.maxFires,
    jitterMs: job.jitterMs,
    misfirePolicy: job.misfirePolicy,
    misfireGraceMs: job.misfireGraceMs,
    catchUpWindowMs: job.catchUpWindowMs,
    overlapPolicy: job.overlapPolicy,
    nextFireAt: dateOf(job.nextFireMs),
    lastFireAt: dateOf(job.lastFireMs),
    fireCount: job.fireCount,
    lastRunId: job.lastRunId,
    pausedAt: dateOf(job.pausedMs),
    parkedAt: dateOf(job.parkedMs),
    errorCode: job.errorCode,
    errorMessage: job.errorMessage,
    createdAt: new Date(job.createdMs),
    updatedAt: new Date(job.updatedMs),
  };
}

/** The stored definition without its payload, as the base of an update. */
export function definitionOf(job: StoredJob): GivenOptions<JobDefinition> {
  const { enabled, jitterMs, misfirePolicy, misfireGraceMs, catchUpWindowMs, overlapPolicy } = job;
  return {
    schedule: scheduleOf(job),
    enabled,
    jitterMs,
    misfirePolicy,
    misfireGraceMs,
    catchUpWindowMs,
    overlapPolicy,
    startAt: dateOf(job.startMs) ?? undefined,
    endAt: dateOf(job.endMs) ?? undefined,
    maxFires: job.maxFires ?? undefined,
    fireField: job.fireField ?? undefined,
  };
}

/** A stored command as it was given. */
export function commandOf(stored: string): JobCommand {
  const { command_type: commandType, data, ...more } = JSON.parse(stored);
  const { reply_to: replyTo, priority, max_attempts: maxAttempts, correlation_id: correlationId } = more;
  return JSON.parse(JSON.stringify({ commandType, data, replyTo, priority, maxAttempts, correlationId }));
}

function scheduleOf({ kind, anchorMs, everyMs, cron, timeZone }: StoredJob): Schedule {
  switch (kind) {
    case "ONCE":
      return { at: new Date(anchorMs ?? 0) };
    case "INTERVAL":
      return { everyMs: everyMs ?? 0 };
    case "CRON":
      return { cron: cron ?? "", timeZone: timeZone ?? "UTC" };
  }
}

function dateOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}
