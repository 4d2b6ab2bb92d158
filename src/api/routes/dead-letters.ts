import { Type } from "typebox";
import { messageToJson } from "../../contracts/index.ts";
import type { Caller } from "../../operators/index.ts";
import { countRedrivable, type DeadLetterInfo, listDeadLetters } from "../../topics/index.ts";
import { shownPayload } from "../payloads.ts";
import { action, closed, type RouteContext, route } from "../route.ts";
import {
  Changed,
  MaybeInteger,
  MaybeText,
  MaybeTimestamp,
  NumberCursor,
  page,
  Reason,
  RunId,
  Timestamp,
  TopicName,
  toPage,
} from "../schemas.ts";

const lettersDefault = 20;
/** A letter may hold a whole tick. */
const lettersMax = 100;
const shownBytesMax = 65_536;
const redriveMax = 10_000;

const DeadLetter = Type.Object(
  {
    position: Type.Integer(),
    deadLetterTopic: Type.String(),
    runId: MaybeText,
    group: MaybeText,
    publishedAt: Timestamp,
    error: Type.String(),
    stackTraceLines: Type.Array(Type.String()),
    sourceService: MaybeText,
    retryCount: MaybeInteger,
    firstFailureAt: MaybeTimestamp,
    lastFailureAt: MaybeTimestamp,
    messageType: MaybeText,
    payloadBytes: MaybeInteger,
    payload: Type.Unknown({
      description: `The message that was given up: JSON when its type is one of Tallyman's own, else base64; null above ${shownBytesMax} bytes.`,
    }),
  },
  closed,
);

const OneTopic = Type.Object({ topic: TopicName }, closed);
const redriveFilter = { group: Type.Optional(TopicName), runId: Type.Optional(RunId) };

/** Messages that were given up. */
export const deadLetterRoutes = {
  "GET /api/topics/:topic/dead-letters": route(
    {
      summary: "List a topic's dead letters, the oldest first; of a dead-letter topic, what is in it",
      role: "read",
      params: OneTopic,
      query: Type.Object(
        {
          ...redriveFilter,
          limit: Type.Optional(Type.Integer({ minimum: 1, maximum: lettersMax, default: lettersDefault })),
          cursor: NumberCursor,
        },
        closed,
      ),
      data: page(DeadLetter),
    },
    async ({ database }, { params: { topic }, query, caller }, context) => {
      const { cursor: after, limit = lettersDefault, ...filter } = query;
      const letters = await listDeadLetters(database, topic, { ...filter, limit, after });
      const shown = letters.map((letter) => shownLetter(letter, caller, context));
      return toPage(shown, limit, ({ position }) => `${position}`);
    },
  ),

  "GET /api/topics/:topic/redrive": route(
    {
      summary: "Preview of a re-drive: how many dead letters it would send back",
      role: "read",
      params: OneTopic,
      query: Type.Object(redriveFilter, closed),
      data: Type.Object({ matched: Type.Integer() }, closed),
    },
    async ({ database }, { params: { topic }, query }) => ({
      matched: await countRedrivable(database, topic, query),
    }),
  ),

  "POST /api/topics/:topic/redrive": action(
    {
      summary: "Send a topic's dead letters back to the groups that gave them up, the oldest first",
      role: "operate",
      action: "topic.redrive",
      params: OneTopic,
      body: Type.Object(
        {
          ...redriveFilter,
          limit: Type.Optional(Type.Integer({ minimum: 1, maximum: redriveMax, default: redriveMax })),
          reason: Reason,
        },
        closed,
      ),
      data: Changed,
    },
    async ({ topics }, { params: { topic }, body: { reason: _reason, ...options } }) => {
      const changed = await topics.redrive(topic, options);
      return { data: { changed }, target: { topic, ...options }, changed };
    },
  ),
};

function shownLetter({ letter, ...place }: DeadLetterInfo, caller: Caller, context: RouteContext) {
  return {
    ...place,
    error: letter?.failureReason ?? "The letter itself is damaged.",
    stackTraceLines: letter?.stackTraceLines ?? [],
    sourceService: letter?.sourceService ?? null,
    retryCount: letter?.retryCount ?? null,
    firstFailureAt: momentOf(letter?.firstFailureTimeMs),
    lastFailureAt: momentOf(letter?.lastFailureTimeMs),
    messageType: letter?.messageType ?? null,
    payloadBytes: letter?.originalMessage.length ?? null,
    payload: shownPayload(readablePayload(letter), caller, context),
  };
}

function readablePayload(letter: DeadLetterInfo["letter"]): unknown {
  if (!letter || letter.originalMessage.length > shownBytesMax) return null;
  const { messageType, originalMessage } = letter;
  return messageToJson(messageType, originalMessage) ?? Buffer.from(originalMessage).toString("base64");
}

/** Anybody may write letters, so a time in one may be none. */
function momentOf(ms: bigint | undefined): Date | null {
  const moment = new Date(Number(ms));
  return Number.isNaN(moment.getTime()) ? null : moment;
}
