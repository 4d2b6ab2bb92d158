import type { BatchCommand } from "../commands/index.ts";
import type { MisfirePolicy, Schedule } from "./schedule.ts";

/** Whether a job fires while the command or batch of its last fire has not ended. */
export type OverlapPolicy = "ALLOW" | "SKIP";

/** A command as a job sends it: under a new id each time, at once. */
export interface JobCommand
  extends Pick<BatchCommand, "commandType" | "replyTo" | "priority" | "maxAttempts" | "correlationId"> {
  /** Anything that JSON can hold. Default {}. */
  readonly data?: unknown;
}

/** What a job is: when it fires, and what each fire puts on the command bus. */
export interface JobDefinition {
  readonly schedule: Schedule;
  /** One command for each fire; this or `batch`. */
  readonly command?: JobCommand & { readonly domain: string };
  /** A batch for each fire, of 1 to 1,000 commands; this or `command`. */
  readonly batch?: {
    readonly domain: string;
    /** For people. */
    readonly name?: string;
    readonly commands: readonly JobCommand[];
  };
  /** False: it is kept and does not fire. Default true. */
  readonly enabled: boolean;
  /** No fire before; the zero of an interval. Default: now. */
  readonly startAt?: Date;
  /** No fire from then on. Default: none. */
  readonly endAt?: Date;
  /** It ends after so many fires. Default: no limit. */
  readonly maxFires?: number;
  /** Delays each fire by up to this, always by the same for one job and time. Default 0. */
  readonly jitterMs: number;
  /** What becomes of times at which nobody could fire. Default FIRE_ONCE. */
  readonly misfirePolicy: MisfirePolicy;
  /** With SKIP: how late a fire may be. Default 10 s. */
  readonly misfireGraceMs: number;
  /** With FIRE_ONCE and FIRE_ALL: older times don't fire any more. Default 7 days. */
  readonly catchUpWindowMs: number;
  /** Default ALLOW. */
  readonly overlapPolicy: OverlapPolicy;
  /** A field of each command's data that gets `{ jobKey, fireTime }`; the data must then be an object. */
  readonly fireField?: string;
}

/** What to change about a job; null takes a limit or a field away. */
export type JobChanges = {
  readonly [Name in keyof JobDefinition]?:
    | JobDefinition[Name]
    | undefined
    | (Name extends "startAt" | "endAt" | "maxFires" | "fireField" ? null : never);
};

/**
 * DISABLED by its definition; PAUSED by an operator; PARKED because its fire failed, with an error; FINISHED:
 * no time is left; SCHEDULED: it has a next time.
 */
export type JobStatus = "SCHEDULED" | "PAUSED" | "DISABLED" | "PARKED" | "FINISHED";

/** A job as queries return it. */
export interface JobInfo {
  readonly key: string;
  readonly status: JobStatus;
  readonly schedule: Schedule;
  readonly target: "COMMAND" | "BATCH";
  readonly domain: string;
  /** How many commands each fire sends. */
  readonly commandCount: number;
  readonly batchName: string | null;
  readonly fireField: string | null;
  readonly segmentId: number;
  readonly enabled: boolean;
  readonly startAt: Date | null;
  readonly endAt: Date | null;
  readonly maxFires: number | null;
  readonly jitterMs: number;
  readonly misfirePolicy: MisfirePolicy;
  readonly misfireGraceMs: number;
  readonly catchUpWindowMs: number;
  readonly overlapPolicy: OverlapPolicy;
  /** The next time of the schedule; null when there is none. A job that is paused or parked keeps it. */
  readonly nextFireAt: Date | null;
  readonly lastFireAt: Date | null;
  /** Fires by the schedule, runs by hand not counted. */
  readonly fireCount: number;
  /** The command or batch of the last fire. */
  readonly lastRunId: string | null;
  readonly pausedAt: Date | null;
  readonly parkedAt: Date | null;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** What became of one time of a job, of a range of times, or of a run by hand. */
export interface JobFire {
  readonly fireTime: Date;
  /** MISSED: the times from `fireTime` until `missedUntil`, without it. OVERLAP: the fire before still ran. */
  readonly outcome: "FIRED" | "MISSED" | "OVERLAP";
  /** Somebody ran it by hand. */
  readonly isManual: boolean;
  /** When it was recorded. */
  readonly firedAt: Date;
  /** The command or batch; null when there is none. */
  readonly runId: string | null;
  readonly missedUntil: Date | null;
  /** For `cursor`: the page that follows begins after this one. */
  readonly cursor: string;
}
