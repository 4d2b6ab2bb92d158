import { TallymanError } from "../errors/index.ts";
import { required, resolveOptions, wholeNumber } from "../runtime/index.ts";
import type { TopicReaderOptions, TopicWriterOptions } from "./topic.ts";

/** Names of topics and groups, as the text of a regular expression. */
export const topicNamePatternText = "^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$";
const namePattern = new RegExp(topicNamePatternText);
/** How long a claim lasts unless told otherwise. */
export const claimTimeoutMsDefault = 300_000;
const pollIntervalMsDefault = 1_000;

/** Most messages that one poll hands out. */
export const pollMax = 10_000;

/** Reader options with every default filled in. */
export type ResolvedReaderOptions = Required<Omit<TopicReaderOptions, "runId">> & {
  readonly runId?: string;
};

/** Topic and group names: what every engine takes. */
function name(value: string): string | undefined {
  return namePattern.test(value)
    ? undefined
    : "a name of letters, digits, '-' and '_', beginning with a letter or digit, at most 100 characters";
}

/** The dead-letter topic of a topic, unless it is configured. */
export function deadLetterTopicOf(topic: string): string {
  return `${topic}-dead-letters`.slice(-100);
}

/** Checks what a writer is opened with. @throws TallymanError INVALID_OPTION naming the option */
export function resolveWriterOptions(given: TopicWriterOptions): Readonly<TopicWriterOptions> {
  return resolveOptions<{ topic: string; runId?: string }>({ topic: required, runId: undefined }, given, {
    topic: name,
  });
}

/** Checks what a reader is opened with, and fills in the defaults. @throws TallymanError INVALID_OPTION naming the option */
export function resolveReaderOptions(given: TopicReaderOptions): ResolvedReaderOptions {
  return resolveOptions<ResolvedReaderOptions>(
    {
      topic: required,
      group: required,
      startAt: "beginning",
      runId: undefined,
      claimTimeoutMs: claimTimeoutMsDefault,
      pollIntervalMs: pollIntervalMsDefault,
      deadLetterTopic: deadLetterTopicOf(given.topic ?? ""),
    },
    given,
    {
      topic: name,
      group: name,
      deadLetterTopic: name,
      claimTimeoutMs: wholeNumber({ min: 0 }),
      startAt: (value) => (value === "beginning" || value === "now" ? undefined : "one of beginning, now"),
    },
  );
}

const pollRules = {
  max: wholeNumber({ max: pollMax }),
  timeoutMs: (value: number) => (value >= 0 ? undefined : "a number of milliseconds of at least 0"),
};

/** Checks the arguments of a poll. */
export function checkPoll(max: number, timeoutMs: number): void {
  resolveOptions<{ max: number; timeoutMs: number }>(
    { max: required, timeoutMs: required },
    { max, timeoutMs },
    pollRules,
  );
}

/** Keys are part of an index, of headers and of logs. */
const keyLettersMax = 512;
const keyPattern = /^[^\p{Cc}\p{Cs}]+$/u;

/** Checks the key of a message that is to be sent. */
export function checkKey(key: string): string {
  if (typeof key === "string" && key.length <= keyLettersMax && keyPattern.test(key)) return key;
  throw new TallymanError(
    "INVALID_OPTION",
    `Option 'key' must be a text of 1 to ${keyLettersMax} letters without control characters.`,
    { details: { option: "key" } },
  );
}

/** Checks a delay or a retention given by a caller. */
export function checkMs(option: string, value: number, min: number): void {
  if (Number.isSafeInteger(value) && value >= min) return;
  throw new TallymanError(
    "INVALID_OPTION",
    `Option '${option}' must be a whole number of at least ${min}, but is ${value}.`,
    { details: { option } },
  );
}

/** Dead letters that one re-drive takes back unless told otherwise. */
export const redriveLimitDefault = 10_000;
