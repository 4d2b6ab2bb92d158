import { cronOf } from "./cron-times.ts";

/**
 * When a job fires: once, every so many milliseconds, or by a cron pattern in a time zone.
 *
 * @example
 * ```ts
 * const nightly: Schedule = { cron: "30 2 * * *", timeZone: "Europe/Berlin" };
 * ```
 */
export type Schedule =
  | { readonly at: Date }
  | { readonly everyMs: number }
  | {
      /** Five to seven fields (seconds first when there are six, the year last when there are seven), or `@daily`. */
      readonly cron: string;
      /** IANA name. Default UTC. */
      readonly timeZone?: string;
    };

/** What happens to times at which nobody could fire; see {@link planFire}. */
export type MisfirePolicy = "SKIP" | "FIRE_ONCE" | "FIRE_ALL";

/** The times of a schedule, as numbers: milliseconds since the epoch. */
export interface Times {
  readonly kind: "ONCE" | "INTERVAL" | "CRON";
  /** The time itself (ONCE), or the zero of the grid (INTERVAL). */
  readonly anchorMs: number | null;
  readonly everyMs: number | null;
  readonly cron: string | null;
  readonly timeZone: string | null;
  /** No time before this one. */
  readonly startMs: number | null;
  /** No time from this one on. */
  readonly endMs: number | null;
}

/** The first time after `afterMs`; null when there is none. Always later than `afterMs`. */
export function nextAfter(times: Times, afterMs: number): number | null {
  const fromMs = times.startMs === null ? afterMs : Math.max(afterMs, times.startMs - 1);
  const next = unboundedNext(times, fromMs);
  return next === null || (times.endMs !== null && next >= times.endMs) ? null : next;
}

/** The last time that is not after `untilMs`; null when there is none. */
export function lastUntil(times: Times, untilMs: number): number | null {
  const toMs = times.endMs === null ? untilMs : Math.min(untilMs, times.endMs - 1);
  const last = unboundedLast(times, toMs);
  return last === null || (times.startMs !== null && last < times.startMs) ? null : last;
}

function unboundedNext({ kind, anchorMs, everyMs, cron, timeZone }: Times, afterMs: number): number | null {
  const anchor = anchorMs ?? 0;
  switch (kind) {
    case "ONCE":
      return anchor > afterMs ? anchor : null;
    case "INTERVAL": {
      const every = everyMs ?? 1;
      return anchor + Math.max(0, Math.floor((afterMs - anchor) / every) + 1) * every;
    }
    case "CRON":
      return cronOf(cron ?? "", timeZone ?? "UTC").nextAfter(afterMs);
  }
}

function unboundedLast({ kind, anchorMs, everyMs, cron, timeZone }: Times, untilMs: number): number | null {
  const anchor = anchorMs ?? 0;
  switch (kind) {
    case "ONCE":
      return anchor <= untilMs ? anchor : null;
    case "INTERVAL": {
      const every = everyMs ?? 1;
      return untilMs < anchor ? null : anchor + Math.floor((untilMs - anchor) / every) * every;
    }
    case "CRON":
      return cronOf(cron ?? "", timeZone ?? "UTC").lastUntil(untilMs);
  }
}

/** The next `count` times after `afterMs`; fewer when the schedule ends before. */
export function nextTimes(times: Times, afterMs: number, count: number): number[] {
  const list: number[] = [];
  for (let next = nextAfter(times, afterMs); next !== null && list.length < count; ) {
    list.push(next);
    next = nextAfter(times, next);
  }
  return list;
}

/** A job as its next fire is decided from. */
export interface Plannable extends Times {
  /** The time that comes next. */
  readonly nextFireMs: number;
  readonly misfirePolicy: MisfirePolicy;
  readonly misfireGraceMs: number;
  readonly catchUpWindowMs: number;
  readonly jitterMs: number;
  /** What makes the jitter of this job its own; read only when there is jitter. */
  readonly jobKey: string | null;
}

/** What to do about a job that is due. Each of its times gets exactly one fire, or is in one range of missed ones. */
export interface FirePlan {
  /** The time to fire; null when all that were due are missed. */
  readonly fireMs: number | null;
  /** The times from `nextFireMs` until this one, without it, are missed; null when none is. */
  readonly missedUntilMs: number | null;
  /** The time that comes next, later than every time spoken of before; null when there is none. */
  readonly nextMs: number | null;
  /** When a worker may fire that one. */
  readonly dueMs: number | null;
}

/**
 * Decides about a job whose next time has come, one fire at a time.
 *
 * - SKIP: a time later than the grace is missed.
 * - FIRE_ONCE: when several times have passed, the latest fires and the others are missed; so is that one
 *   when it is older than the catch-up window.
 * - FIRE_ALL: every time fires, but those older than the catch-up window are missed.
 *
 * Pure. It counts from the job's own next time, never from the clock, so a clock that is set back can't
 * repeat a time: a plan's `nextMs` is always later than `nextFireMs`.
 */
export function planFire(job: Plannable, nowMs: number): FirePlan {
  return job.misfirePolicy === "FIRE_ONCE" ? planLatest(job, nowMs) : planEach(job, nowMs);
}

function planEach(job: Plannable, nowMs: number): FirePlan {
  const { nextFireMs, misfirePolicy, misfireGraceMs, catchUpWindowMs } = job;
  const oldestMs = nowMs - (misfirePolicy === "SKIP" ? misfireGraceMs : catchUpWindowMs) - job.jitterMs;
  if (nextFireMs >= oldestMs) return plan(job, nextFireMs, null, nextAfter(job, nextFireMs));
  return missedUntil(job, nextAfter(job, Math.max(nextFireMs, oldestMs - 1)));
}

function planLatest(job: Plannable, nowMs: number): FirePlan {
  const { nextFireMs, catchUpWindowMs, jitterMs } = job;
  const following = nextAfter(job, nextFireMs);
  const passedMs = nowMs - jitterMs;
  const isLatest = following === null || following > passedMs;
  const latest = isLatest ? nextFireMs : Math.max(nextFireMs, lastUntil(job, passedMs) ?? nextFireMs);
  const next = latest === nextFireMs ? following : nextAfter(job, latest);
  if (latest < nowMs - catchUpWindowMs - jitterMs) return missedUntil(job, next, latest);
  return plan(job, latest, latest > nextFireMs ? latest : null, next);
}

function missedUntil(job: Plannable, next: number | null, latest = job.nextFireMs): FirePlan {
  return plan(job, null, next ?? latest + 1, next);
}

function plan(
  job: Plannable,
  fireMs: number | null,
  missedUntilMs: number | null,
  nextMs: number | null,
): FirePlan {
  return { fireMs, missedUntilMs, nextMs, dueMs: nextMs === null ? null : nextMs + jitterOf(job, nextMs) };
}

/** The delay of one fire, from 0 to the job's jitter: the same whoever computes it, and whenever. */
export function jitterOf(
  { jitterMs, jobKey }: Pick<Plannable, "jitterMs" | "jobKey">,
  fireMs: number,
): number {
  if (jitterMs === 0) return 0;
  return Math.floor(hashFraction(`${jobKey}@${fireMs}`) * (jitterMs + 1));
}

/** FNV-1a with a finish that spreads the last letters over all bits; a number in [0, 1). */
function hashFraction(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}
