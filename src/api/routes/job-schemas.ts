import { type Static, Type } from "typebox";
import type { GivenOptions } from "../../runtime/index.ts";
import { type JobChanges, type JobDefinition, jobCommandsMax, type Schedule } from "../../scheduler/index.ts";
import { closed } from "../route.ts";
import {
  invalidField,
  MaybeInteger,
  MaybeText,
  MaybeTimestamp,
  Name,
  oneOf,
  Timestamp,
  toDate,
  Uuid,
} from "../schemas.ts";

/** The states of a job. */
export const JobStatusText = oneOf(["SCHEDULED", "PAUSED", "DISABLED", "PARKED", "FINISHED"]);

const MisfirePolicyText = oneOf(["SKIP", "FIRE_ONCE", "FIRE_ALL"]);
const OverlapPolicyText = oneOf(["ALLOW", "SKIP"]);

/** One of `at`, `everyMs` and `cron`, the last with or without a `timeZone`. */
const ScheduleFields = Type.Object(
  {
    at: Type.Optional(Timestamp),
    everyMs: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
    cron: Type.Optional(Name),
    timeZone: Type.Optional(Name),
  },
  closed,
);

/** A job as it is shown. */
export const Job = Type.Object(
  {
    key: Type.String(),
    status: JobStatusText,
    schedule: ScheduleFields,
    target: oneOf(["COMMAND", "BATCH"]),
    domain: Type.String(),
    commandCount: Type.Integer(),
    batchName: MaybeText,
    fireField: MaybeText,
    segmentId: Type.Integer(),
    enabled: Type.Boolean(),
    startAt: MaybeTimestamp,
    endAt: MaybeTimestamp,
    maxFires: MaybeInteger,
    jitterMs: Type.Integer(),
    misfirePolicy: MisfirePolicyText,
    misfireGraceMs: Type.Integer(),
    catchUpWindowMs: Type.Integer(),
    overlapPolicy: OverlapPolicyText,
    nextFireAt: MaybeTimestamp,
    lastFireAt: MaybeTimestamp,
    fireCount: Type.Integer(),
    lastRunId: MaybeText,
    pausedAt: MaybeTimestamp,
    parkedAt: MaybeTimestamp,
    errorCode: MaybeText,
    errorMessage: MaybeText,
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  closed,
);

/** What became of one time of a job. */
export const Fire = Type.Object(
  {
    fireTime: Timestamp,
    outcome: oneOf(["FIRED", "MISSED", "OVERLAP"]),
    isManual: Type.Boolean(),
    firedAt: Timestamp,
    runId: MaybeText,
    missedUntil: MaybeTimestamp,
    cursor: Type.String(),
  },
  closed,
);

const commandFields = {
  commandType: Name,
  data: Type.Optional(Type.Unknown()),
  replyTo: Type.Optional(Name),
  priority: Type.Optional(Type.Integer({ minimum: -2_147_483_648, maximum: 2_147_483_647 })),
  maxAttempts: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 })),
  correlationId: Type.Optional(Uuid),
};

/** A command as a job sends it. */
export const JobCommand = Type.Object(commandFields, closed);

const milliseconds = Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }));

const settings = {
  command: Type.Optional(Type.Object({ domain: Name, ...commandFields }, closed)),
  batch: Type.Optional(
    Type.Object(
      {
        domain: Name,
        name: Type.Optional(Name),
        commands: Type.Array(JobCommand, { minItems: 1, maxItems: jobCommandsMax }),
      },
      closed,
    ),
  ),
  enabled: Type.Optional(Type.Boolean()),
  jitterMs: milliseconds,
  misfirePolicy: Type.Optional(MisfirePolicyText),
  misfireGraceMs: milliseconds,
  catchUpWindowMs: milliseconds,
  overlapPolicy: Type.Optional(OverlapPolicyText),
};

/** A job that somebody adds. */
export const NewJob = Type.Object(
  {
    key: Name,
    schedule: ScheduleFields,
    ...settings,
    startAt: Type.Optional(Timestamp),
    endAt: Type.Optional(Timestamp),
    maxFires: Type.Optional(Type.Integer({ minimum: 1 })),
    fireField: Type.Optional(Name),
  },
  closed,
);

/** What to change about a job; null takes a limit or a field away. */
export const ChangedJob = Type.Object(
  {
    schedule: Type.Optional(ScheduleFields),
    ...settings,
    startAt: Type.Optional(MaybeTimestamp),
    endAt: Type.Optional(MaybeTimestamp),
    maxFires: Type.Optional(Type.Unsafe<number | null>({ type: ["integer", "null"], minimum: 1 })),
    fireField: Type.Optional(Type.Unsafe<string | null>({ ...Name, type: ["string", "null"] })),
  },
  closed,
);

/** JSON as the library takes it. */
export function toDefinition(given: Omit<Static<typeof NewJob>, "key">): GivenOptions<JobDefinition> {
  const { schedule, startAt, endAt, ...rest } = given;
  return {
    ...rest,
    schedule: toSchedule(schedule),
    ...(startAt !== undefined && { startAt: toDate("startAt", startAt) }),
    ...(endAt !== undefined && { endAt: toDate("endAt", endAt) }),
  };
}

/** JSON as the library takes it. */
export function toChanges({ schedule, startAt, endAt, ...rest }: Static<typeof ChangedJob>): JobChanges {
  return {
    ...rest,
    ...(schedule && { schedule: toSchedule(schedule) }),
    ...(startAt !== undefined && { startAt: startAt === null ? null : toDate("startAt", startAt) }),
    ...(endAt !== undefined && { endAt: endAt === null ? null : toDate("endAt", endAt) }),
  };
}

function toSchedule({ at, everyMs, cron, timeZone }: Static<typeof ScheduleFields>): Schedule {
  const given = [at, everyMs, cron].filter((kind) => kind !== undefined);
  if (given.length !== 1) throw invalidField("schedule", "give one of 'at', 'everyMs' and 'cron'");
  if (timeZone !== undefined && cron === undefined)
    throw invalidField("schedule.timeZone", "it belongs to 'cron'");
  if (at !== undefined) return { at: toDate("schedule.at", at) };
  if (everyMs !== undefined) return { everyMs };
  return { cron: cron ?? "", ...(timeZone !== undefined && { timeZone }) };
}
