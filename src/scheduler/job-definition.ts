import type { CommandBus } from "../commands/index.ts";
import { TallymanError } from "../errors/index.ts";
import {
  type GivenOptions,
  nameRule,
  oneOf,
  required,
  resolveOptions,
  wholeNumber,
} from "../runtime/index.ts";
import { CronTimes } from "./cron-times.ts";
import type { JobCommand, JobDefinition } from "./job.ts";
import type { Schedule, Times } from "./schedule.ts";

/** Commands that one fire may send. */
export const jobCommandsMax = 1_000;
/** A worker looks at most so often; a job that must run more often is a loop. */
const everyMsMin = 100;
const dayMs = 86_400_000;
const everyMsMax = 3_660 * dayMs;
const textLettersMax = 255;
const integerMax = 2 ** 31 - 1;
/** PostgreSQL and ISO texts agree up to here. */
const yearMax = 9_999;

/**
 * Checks a definition and fills in its defaults.
 *
 * @throws TallymanError INVALID_OPTION for a setting; JOB_INVALID for schedule and payload
 */
export function resolveDefinition(given: GivenOptions<JobDefinition>): Readonly<JobDefinition> {
  const definition = resolveOptions<JobDefinition>(
    {
      schedule: required,
      command: undefined,
      batch: undefined,
      enabled: true,
      startAt: undefined,
      endAt: undefined,
      maxFires: undefined,
      jitterMs: 0,
      misfirePolicy: "FIRE_ONCE",
      misfireGraceMs: 10_000,
      catchUpWindowMs: 7 * dayMs,
      overlapPolicy: "ALLOW",
      fireField: undefined,
    },
    given,
    {
      startAt: validDate,
      endAt: (endAt, { startAt }) =>
        validDate(endAt) ?? (startAt && endAt <= startAt ? "later than startAt" : undefined),
      maxFires: wholeNumber({ max: integerMax }),
      jitterMs: wholeNumber({ min: 0, max: dayMs }),
      misfireGraceMs: wholeNumber({ max: everyMsMax }),
      catchUpWindowMs: wholeNumber({ max: everyMsMax }),
      misfirePolicy: oneOf("SKIP", "FIRE_ONCE", "FIRE_ALL"),
      overlapPolicy: oneOf("ALLOW", "SKIP"),
      fireField: validText,
    },
  );
  refuseWideJitter(definition);
  return definition;
}

function validDate(date: Date): string | undefined {
  const isValid =
    date instanceof Date && !Number.isNaN(date.getTime()) && Math.abs(date.getUTCFullYear()) <= yearMax;
  return isValid ? undefined : "a valid date";
}

function validText(text: string): string | undefined {
  const isValid = typeof text === "string" && text.length > 0 && text.length <= textLettersMax;
  return isValid ? undefined : `a text of 1 to ${textLettersMax} letters`;
}

function refuseWideJitter({ schedule, jitterMs }: JobDefinition): void {
  if ("everyMs" in schedule && jitterMs >= schedule.everyMs && jitterMs > 0) {
    throw invalidJob(`jitterMs (${jitterMs}) must be less than everyMs (${schedule.everyMs})`);
  }
}

/** Refuses a key that is no key. */
export function refuseBadKey(key: string): void {
  const fault = nameRule(key) ?? (key.trim() === key ? undefined : "a text without spaces around it");
  if (fault) throw invalidJob(`its key must be ${fault}`);
}

/**
 * The times of a schedule; an interval counts from its start, or from `nowMs`.
 *
 * @throws TallymanError JOB_INVALID
 */
export function timesOf({ schedule, startAt, endAt }: JobDefinition, nowMs: number): Times {
  const bounds = { startMs: startAt?.getTime() ?? null, endMs: endAt?.getTime() ?? null };
  const empty = { anchorMs: null, everyMs: null, cron: null, timeZone: null, ...bounds };
  switch (kindOf(schedule)) {
    case "at": {
      const { at } = schedule as { at: Date };
      if (validDate(at) !== undefined) throw invalidJob("schedule.at must be a valid date");
      return { ...empty, kind: "ONCE", anchorMs: at.getTime() };
    }
    case "everyMs": {
      const { everyMs } = schedule as { everyMs: number };
      const fault = wholeNumber({ min: everyMsMin, max: everyMsMax })(everyMs);
      if (fault) throw invalidJob(`schedule.everyMs must be ${fault}, but is ${everyMs}`);
      return { ...empty, kind: "INTERVAL", everyMs, anchorMs: bounds.startMs ?? nowMs };
    }
    case "cron": {
      const { cron, timeZone = "UTC" } = schedule as { cron: string; timeZone?: string };
      const fault = validText(cron) ?? validText(timeZone);
      if (fault) throw invalidJob(`schedule.cron and schedule.timeZone must each be ${fault}`);
      CronTimes.check(cron, timeZone);
      return { ...empty, kind: "CRON", cron, timeZone };
    }
  }
}

const kinds = ["at", "everyMs", "cron"] as const;

function kindOf(schedule: Schedule): (typeof kinds)[number] {
  const names = typeof schedule === "object" && schedule !== null ? Object.keys(schedule) : [];
  const given = kinds.filter((kind) => names.includes(kind));
  const unknown = names.find((name) => name !== "timeZone" && !kinds.some((kind) => kind === name));
  if (unknown !== undefined) throw invalidJob(`its schedule has an unknown field '${unknown}'`);
  const [kind] = given;
  if (kind === undefined || given.length > 1)
    throw invalidJob("its schedule needs one of at, everyMs and cron");
  if (names.includes("timeZone") && kind !== "cron")
    throw invalidJob("a timeZone belongs to a cron schedule");
  return kind;
}

/** What a fire sends, ready to be stored. */
export interface Payload {
  readonly target: "COMMAND" | "BATCH";
  readonly domain: string;
  readonly batchName: string | null;
  readonly fireField: string | null;
  /** JSON objects without ids, as the bus stores them. */
  readonly commands: readonly string[];
}

/**
 * Checks what a job sends as the bus would when it is sent, so that a fire can't fail over it.
 *
 * @throws TallymanError JOB_INVALID, COMMAND_INVALID, COMMAND_TOO_LARGE
 */
export async function payloadOf(bus: CommandBus, definition: JobDefinition): Promise<Payload> {
  const { command, batch, fireField } = definition;
  if ((command === undefined) === (batch === undefined))
    throw invalidJob("it needs a command or a batch, and not both");
  const { domain } = (command ?? batch) as { domain: string };
  const list = command ? [command] : (batch?.commands ?? []);
  if (!Array.isArray(list) || list.length === 0 || list.length > jobCommandsMax) {
    throw invalidJob(`batch.commands must be a list of 1 to ${jobCommandsMax} commands`);
  }
  const name = batch?.name;
  if (name !== undefined && validText(name)) throw invalidJob(`batch.name must be ${validText(name)}`);
  for (const one of list) refuseUnrepeatable(one, fireField);
  const commands = await bus.templates(
    domain,
    list.map(({ domain: _, ...one }: JobCommand & { domain?: string }) => ({ ...one, data: one.data ?? {} })),
  );
  const target = command ? "COMMAND" : "BATCH";
  return { target, domain, batchName: name ?? null, fireField: fireField ?? null, commands };
}

/** Refuses what would be wrong the second time, or makes no sense with a schedule. */
export function refuseUnrepeatable(command: JobCommand, fireField: string | undefined): void {
  if (typeof command !== "object" || command === null) throw invalidJob("a command must be an object");
  for (const field of ["commandId", "runAt"]) {
    if (field in command) throw invalidJob(`a command can't have ${field}: each fire sends it anew, at once`);
  }
  const { data = {} } = command;
  const isObject = typeof data === "object" && data !== null && !Array.isArray(data);
  if (fireField !== undefined && !isObject) throw invalidJob("with fireField the data must be an object");
}

/** A job that can't be stored, and why. */
export function invalidJob(reason: string, details: Readonly<Record<string, unknown>> = {}): TallymanError {
  return new TallymanError("JOB_INVALID", `The job can't be stored: ${reason}.`, { details });
}
