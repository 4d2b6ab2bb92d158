import { fromBinary } from "@bufbuild/protobuf";
import { type DeadLetterMessage, DeadLetterMessageSchema } from "../contracts/index.ts";
import type { Executor } from "../database/index.ts";
import { deadLetterType } from "./dead-letter.ts";
import {
  countDeadLetters as countLetters,
  countRedrivable as countRedrivableLetters,
  type DeadLetterFilter,
  type DeadLetterRow,
  selectDeadLetters,
} from "./sql/dead-letters.ts";
import { findDeadLetterTopics, findTopic } from "./sql/topic.ts";
import type { RedriveOptions } from "./topic.ts";
import { topicNotFound } from "./topic-errors.ts";

/** A message that was given up, where it lies now. */
export interface DeadLetterInfo {
  /** Place in the dead-letter topic, growing in the order of giving up. */
  readonly position: number;
  readonly deadLetterTopic: string;
  readonly runId: string | null;
  /** The group that gave it up; null when it never was in a topic, or the group is gone. */
  readonly group: string | null;
  readonly publishedAt: Date;
  /** What is known about it; null when its bytes are damaged. */
  readonly letter: DeadLetterMessage | null;
}

/** A page of dead letters. */
export interface DeadLetterPage extends Omit<RedriveOptions, "limit"> {
  readonly limit: number;
  /** Position of the last letter of the page before. Default: the beginning. */
  readonly after?: number | undefined;
}

/**
 * The dead letters of a topic, the oldest first; of a dead-letter topic, what is in it.
 *
 * @throws TallymanError TOPIC_NOT_FOUND
 */
export async function listDeadLetters(
  executor: Executor,
  topic: string,
  { limit, after = -1, ...filter }: DeadLetterPage,
): Promise<DeadLetterInfo[]> {
  const rows = await selectDeadLetters(executor, await lettersOf(executor, topic, filter), { limit, after });
  return rows.map(toInfo);
}

/**
 * How many dead letters a re-drive with these options would take back, its limit aside.
 *
 * @throws TallymanError TOPIC_NOT_FOUND
 */
export async function countRedrivable(
  executor: Executor,
  topic: string,
  filter: Omit<RedriveOptions, "limit"> = {},
): Promise<number> {
  return countRedrivableLetters(executor, await lettersOf(executor, topic, filter));
}

/** The dead letters of all topics, counted up to `max`. */
export function countDeadLetters(executor: Executor, max: number): Promise<number> {
  return countLetters(executor, deadLetterType, max);
}

async function lettersOf(
  executor: Executor,
  name: string,
  { group, runId }: Omit<RedriveOptions, "limit">,
): Promise<DeadLetterFilter> {
  const topic = await findTopic(executor, name);
  if (!topic) throw topicNotFound(name);
  const holders =
    topic.messageType === deadLetterType ? [topic] : await findDeadLetterTopics(executor, topic.topicId);
  return { topicIds: holders.map(({ topicId }) => topicId), group: group ?? null, runId: runId ?? null };
}

function toInfo({ payload, ...row }: DeadLetterRow): DeadLetterInfo {
  return { ...row, letter: decoded(payload) };
}

function decoded(payload: Uint8Array): DeadLetterMessage | null {
  try {
    return fromBinary(DeadLetterMessageSchema, payload);
  } catch {
    return null;
  }
}
