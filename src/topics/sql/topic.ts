import type { Executor, Transaction } from "../../database/index.ts";
import type { TopicInfo } from "../topic.ts";

/** A topic's row. */
export interface TopicRow {
  readonly topicId: number;
  readonly name: string;
  readonly messageType: string;
  /** The topic whose dead letters it holds; null for any other. */
  readonly deadLettersOf: number | null;
}

const topicColumns = `topic_id AS "topicId", name, message_type AS "messageType", dead_letters_of AS "deadLettersOf"`;

/**
 * The topic of this name, made when it is missing; one that was made as a plain topic becomes a dead-letter topic.
 * Nothing is written when there is nothing to change: a write would wait for every transaction that publishes there.
 */
export async function ensureTopic(
  executor: Executor,
  topic: { name: string; messageType: string; deadLettersOf?: number },
): Promise<TopicRow> {
  const found = await findTopic(executor, topic.name);
  if (found && (topic.deadLettersOf === undefined || found.deadLettersOf !== null)) return found;
  await executor.query(
    `INSERT INTO tallyman.topic (name, message_type, dead_letters_of) VALUES ($1, $2, $3)
     ON CONFLICT (name) DO UPDATE SET dead_letters_of = excluded.dead_letters_of
       WHERE topic.dead_letters_of IS NULL AND excluded.dead_letters_of IS NOT NULL`,
    [topic.name, topic.messageType, topic.deadLettersOf ?? null],
  );
  return (await findTopic(executor, topic.name)) as TopicRow;
}

export async function findTopic(executor: Executor, name: string): Promise<TopicRow | undefined> {
  const { rows } = await executor.query<TopicRow>(
    `SELECT ${topicColumns} FROM tallyman.topic WHERE name = $1`,
    [name],
  );
  return rows[0];
}

/** The dead-letter topics of a topic. */
export async function findDeadLetterTopics(executor: Executor, topicId: number): Promise<TopicRow[]> {
  const { rows } = await executor.query<TopicRow>(
    `SELECT ${topicColumns} FROM tallyman.topic WHERE dead_letters_of = $1 ORDER BY topic_id`,
    [topicId],
  );
  return rows;
}

/** Every topic with its size. */
export async function listTopics(executor: Executor): Promise<TopicInfo[]> {
  const { rows } = await executor.query<TopicInfo>(
    `SELECT t.name, t.message_type AS "messageType", t.retention_ms AS "retentionMs",
            (SELECT count(*) FROM tallyman.topic_message m WHERE m.topic_id = t.topic_id) AS messages,
            (SELECT count(*) FROM tallyman.topic_group g WHERE g.topic_id = t.topic_id) AS groups,
            source.name AS "deadLettersOf"
     FROM tallyman.topic t LEFT JOIN tallyman.topic source ON source.topic_id = t.dead_letters_of
     ORDER BY t.name`,
  );
  return rows;
}

/** Sets how long acknowledged messages are kept; false when there is no such topic. */
export async function setRetention(
  executor: Executor,
  name: string,
  retentionMs: number | null,
): Promise<boolean> {
  const { rowCount } = await executor.query("UPDATE tallyman.topic SET retention_ms = $2 WHERE name = $1", [
    name,
    retentionMs,
  ]);
  return rowCount === 1;
}

/**
 * The publisher's lock: no group is made, moved or deleted until this transaction ends. It must be a
 * statement of its own, before the one that reads the groups: inside that statement the lock would come
 * after the snapshot, and a group that was made meanwhile would miss the message.
 */
export async function lockGroupsShared(tx: Transaction, topicId: number): Promise<void> {
  await tx.query("SELECT FROM tallyman.topic WHERE topic_id = $1 FOR SHARE", [topicId]);
}

/** The counterpart: waits for publishers under way and holds up later ones until this transaction ends. */
export async function lockGroupsExclusive(tx: Transaction, topicId: number): Promise<void> {
  await tx.query("UPDATE tallyman.topic SET groups_version = groups_version + 1 WHERE topic_id = $1", [
    topicId,
  ]);
}
