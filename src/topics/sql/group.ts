import type { Executor, Transaction } from "../../database/index.ts";
import type { GroupInfo } from "../topic.ts";

export async function findGroup(
  executor: Executor,
  topicId: number,
  name: string,
): Promise<number | undefined> {
  const { rows } = await executor.query<{ groupId: number }>(
    `SELECT group_id AS "groupId" FROM tallyman.topic_group WHERE topic_id = $1 AND name = $2`,
    [topicId, name],
  );
  return rows[0]?.groupId;
}

/** Makes a group; undefined when it is there already. Call after `lockGroupsExclusive`. */
export async function insertGroup(
  tx: Transaction,
  topicId: number,
  name: string,
): Promise<number | undefined> {
  const { rows } = await tx.query<{ groupId: number }>(
    `INSERT INTO tallyman.topic_group (topic_id, name) VALUES ($1, $2)
     ON CONFLICT (topic_id, name) DO NOTHING RETURNING group_id AS "groupId"`,
    [topicId, name],
  );
  return rows[0]?.groupId;
}

/**
 * Makes every message from a position on undelivered for a group, in one run or in all, whatever became of it before.
 * Claims of these messages are void. Call after `lockGroupsExclusive`.
 */
export async function deliverFrom(
  tx: Transaction,
  input: { topicId: number; groupId: number; position: number; runId: string | null },
): Promise<void> {
  await tx.query(
    `INSERT INTO tallyman.topic_delivery (group_id, message_id, run_id)
     SELECT $2, message_id, run_id FROM tallyman.topic_message
     WHERE topic_id = $1 AND message_id >= $3 AND ($4::text IS NULL OR run_id = $4) ORDER BY message_id
     ON CONFLICT (group_id, message_id) DO UPDATE
     SET state = 'ready', visible_at = NULL, deliveries = 0, owner = NULL, last_error = NULL`,
    [input.topicId, input.groupId, input.position, input.runId],
  );
}

/** Forgets a group's deliveries before a position, all of them when it is null; in one run or in all. */
export async function forgetBefore(
  tx: Transaction,
  input: { groupId: number; position: number | null; runId: string | null },
): Promise<void> {
  await tx.query(
    `DELETE FROM tallyman.topic_delivery
     WHERE group_id = $1 AND ($2::int8 IS NULL OR message_id < $2) AND ($3::text IS NULL OR run_id = $3)`,
    [input.groupId, input.position, input.runId],
  );
}

/** The first message published at or after a moment; null when there is none. */
export async function positionAt(executor: Executor, topicId: number, time: Date): Promise<number | null> {
  const { rows } = await executor.query<{ position: number }>(
    `SELECT message_id AS position FROM tallyman.topic_message
     WHERE topic_id = $1 AND published_at >= $2 ORDER BY message_id LIMIT 1`,
    [topicId, time],
  );
  return rows[0]?.position ?? null;
}

/** Pauses or resumes a group; false when there is none of this name. */
export async function setPaused(
  executor: Executor,
  topicId: number,
  name: string,
  isPaused: boolean,
): Promise<boolean> {
  const { rowCount } = await executor.query(
    "UPDATE tallyman.topic_group SET is_paused = $3 WHERE topic_id = $1 AND name = $2",
    [topicId, name, isPaused],
  );
  return rowCount === 1;
}

/** Takes a group away; its deliveries stay for {@link deleteOrphans}. Call after `lockGroupsExclusive`. */
export async function removeGroup(
  tx: Transaction,
  topicId: number,
  name: string,
): Promise<number | undefined> {
  const { rows } = await tx.query<{ groupId: number }>(
    `DELETE FROM tallyman.topic_group WHERE topic_id = $1 AND name = $2 RETURNING group_id AS "groupId"`,
    [topicId, name],
  );
  return rows[0]?.groupId;
}

/** Groups that are gone while deliveries of theirs are left. Walks from group to group along the key. */
export async function orphanedGroups(executor: Executor): Promise<number[]> {
  const { rows } = await executor.query<{ groupId: number }>(
    `WITH RECURSIVE present AS (
       (SELECT group_id FROM tallyman.topic_delivery ORDER BY group_id LIMIT 1)
       UNION ALL
       SELECT (SELECT d.group_id FROM tallyman.topic_delivery d WHERE d.group_id > present.group_id
               ORDER BY d.group_id LIMIT 1)
       FROM present WHERE present.group_id IS NOT NULL
     )
     SELECT p.group_id AS "groupId" FROM present p
     WHERE p.group_id IS NOT NULL AND NOT EXISTS (SELECT FROM tallyman.topic_group g WHERE g.group_id = p.group_id)`,
  );
  return rows.map((row) => row.groupId);
}

/** Deletes up to `limit` deliveries of a group that is gone; returns how many. */
export async function deleteOrphans(executor: Executor, groupId: number, limit: number): Promise<number> {
  const { rowCount } = await executor.query(
    `DELETE FROM tallyman.topic_delivery WHERE group_id = $1 AND message_id = ANY (ARRAY(
       SELECT message_id FROM tallyman.topic_delivery WHERE group_id = $1 ORDER BY message_id LIMIT $2))`,
    [groupId, limit],
  );
  return rowCount ?? 0;
}

/** Groups with their lag: of one topic or of all, over all runs or one. */
export async function listGroups(
  executor: Executor,
  topicId: number | null,
  runId: string | null,
): Promise<GroupInfo[]> {
  const { rows } = await executor.query<GroupInfo>(
    `SELECT t.name AS topic, g.name AS "group", g.is_paused AS "isPaused", g.created_at AS "createdAt",
            lag.messages, lag.ready, lag.claimed, lag.delayed,
            (SELECT greatest(0, round(extract(epoch FROM clock_timestamp() - m.published_at) * 1000))::int8
             FROM tallyman.topic_message m
             WHERE m.topic_id = g.topic_id AND m.message_id = lag.oldest) AS "oldestAgeMs"
     FROM tallyman.topic_group g
     JOIN tallyman.topic t USING (topic_id)
     CROSS JOIN LATERAL (
       SELECT count(*) AS messages, min(message_id) AS oldest,
              count(*) FILTER (WHERE state = 'ready') AS ready,
              count(*) FILTER (WHERE state = 'claimed') AS claimed,
              count(*) FILTER (WHERE state = 'delayed') AS delayed
       FROM tallyman.topic_delivery d
       WHERE d.group_id = g.group_id AND ($2::text IS NULL OR d.run_id = $2)
     ) lag
     WHERE $1::int IS NULL OR g.topic_id = $1
     ORDER BY t.name, g.name`,
    [topicId, runId],
  );
  return rows;
}
