import { type Static, Type } from "typebox";
import type { GroupInfo, SeekTarget, TopicInfo } from "../../topics/index.ts";
import { action, closed, route } from "../route.ts";
import {
  invalidField,
  MaybeInteger,
  MaybeText,
  oneOf,
  Reason,
  RunId,
  Tick,
  Timestamp,
  TopicName,
  toDate,
} from "../schemas.ts";

const dayMs = 86_400_000;
const retentionMsMax = 36_600 * dayMs;

const Group = Type.Object(
  {
    group: Type.String(),
    isPaused: Type.Boolean(),
    createdAt: Timestamp,
    messages: Type.Integer(),
    ready: Type.Integer(),
    claimed: Type.Integer(),
    delayed: Type.Integer(),
    oldestAgeMs: MaybeInteger,
  },
  closed,
);

const Topic = Type.Object(
  {
    name: Type.String(),
    messageType: Type.String(),
    messages: Type.Integer(),
    retentionMs: MaybeInteger,
    deadLettersOf: MaybeText,
    deadLetterTopics: Type.Array(Type.Object({ name: Type.String(), messages: Type.Integer() }, closed)),
    groups: Type.Array(Group),
  },
  closed,
);

const OneTopic = Type.Object({ topic: TopicName }, closed);
const OneGroup = Type.Object({ topic: TopicName, group: TopicName }, closed);
const JustReason = Type.Object({ reason: Reason }, closed);
const Paused = Type.Object({ topic: Type.String(), group: Type.String(), isPaused: Type.Boolean() }, closed);

const Seek = Type.Object(
  {
    to: Type.Optional(oneOf(["beginning", "end"])),
    position: Type.Optional(Tick),
    time: Type.Optional(Timestamp),
    reason: Reason,
  },
  closed,
);

/** Topics and consumer groups. */
export const topicRoutes = {
  "GET /api/topics": route(
    {
      summary: "List topics with their groups, how far each is behind, and their dead letters",
      role: "read",
      query: Type.Object(
        { runId: Type.Optional({ ...RunId, description: "count the groups' messages of this run only" }) },
        closed,
      ),
      data: Type.Array(Topic),
    },
    async ({ topics }, { query }) => {
      const [listed, groups] = await Promise.all([topics.listTopics(), topics.listGroups(undefined, query)]);
      return listed.map((topic) => shownTopic(topic, listed, groups));
    },
  ),

  "POST /api/topics/:topic/groups/:group/pause": action(
    {
      summary: "Hand nothing out to a consumer group until it is resumed",
      role: "operate",
      action: "topic.pause",
      params: OneGroup,
      body: JustReason,
      data: Paused,
    },
    async ({ topics }, { params: { topic, group } }) => {
      await topics.pauseGroup(topic, group);
      return { data: { topic, group, isPaused: true }, target: { topic, group }, changed: 1 };
    },
  ),

  "POST /api/topics/:topic/groups/:group/resume": action(
    {
      summary: "End the pause of a consumer group",
      role: "operate",
      action: "topic.resume",
      params: OneGroup,
      body: JustReason,
      data: Paused,
    },
    async ({ topics }, { params: { topic, group } }) => {
      await topics.resumeGroup(topic, group);
      return { data: { topic, group, isPaused: false }, target: { topic, group }, changed: 1 };
    },
  ),

  "POST /api/topics/:topic/groups/:group/seek": action(
    {
      summary: "Move a consumer group: everything from there on is delivered again, nothing before",
      role: "operate",
      action: "topic.seek",
      params: OneGroup,
      body: Seek,
      data: Type.Object({ topic: Type.String(), group: Type.String(), messages: Type.Integer() }, closed),
    },
    async ({ topics }, { params: { topic, group }, body: { reason: _reason, ...place } }) => {
      await topics.seekGroup(topic, group, toSeekTarget(place));
      const found = (await topics.listGroups(topic)).find((each) => each.group === group);
      const messages = found?.messages ?? 0;
      return { data: { topic, group, messages }, target: { topic, group, ...place }, changed: 1 };
    },
  ),

  "DELETE /api/topics/:topic/groups/:group": action(
    {
      summary: "Delete a consumer group and its place in the topic; its readers fail from then on",
      role: "admin",
      action: "topic.delete-group",
      params: OneGroup,
      query: JustReason,
      data: Type.Object({ topic: Type.String(), group: Type.String() }, closed),
    },
    async ({ topics }, { params: { topic, group } }, { tallyman }) => {
      const groupId = await topics.removeGroup(topic, group);
      return {
        target: { topic, group },
        changed: 1,
        afterwards: async () => {
          await tallyman.topics.clearGroup(groupId);
          return { topic, group };
        },
      };
    },
  ),

  "PUT /api/topics/:topic/retention": action(
    {
      summary: "Set how long a topic keeps messages that every group has acknowledged; null: for ever",
      role: "admin",
      action: "topic.retention",
      params: OneTopic,
      body: Type.Object(
        {
          retentionMs: Type.Unsafe<number | null>({
            type: ["integer", "null"],
            minimum: 1,
            maximum: retentionMsMax,
          }),
          reason: Reason,
        },
        closed,
      ),
      data: Type.Object({ topic: Type.String(), retentionMs: MaybeInteger }, closed),
    },
    async ({ topics }, { params: { topic }, body: { retentionMs } }) => {
      await topics.setRetention(topic, retentionMs);
      return { data: { topic, retentionMs }, target: { topic, retentionMs }, changed: 1 };
    },
  ),
};

function shownTopic(topic: TopicInfo, topics: readonly TopicInfo[], groups: readonly GroupInfo[]) {
  const letters = topics.filter(({ deadLettersOf }) => deadLettersOf === topic.name);
  return {
    ...topic,
    deadLetterTopics: letters.map(({ name, messages }) => ({ name, messages })),
    groups: groups.filter((group) => group.topic === topic.name).map(({ topic: _topic, ...group }) => group),
  };
}

function toSeekTarget({ to, position, time }: Omit<Static<typeof Seek>, "reason">): SeekTarget {
  const given = [to, position, time].filter((place) => place !== undefined);
  if (given.length !== 1) throw invalidField("to", "give one of 'to', 'position' and 'time'");
  if (to !== undefined) return to;
  return position === undefined ? { time: toDate("time", time ?? "") } : { position };
}
