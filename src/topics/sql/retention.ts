import type { Executor, Transaction } from "../../database/index.ts";

/** Topics that do not keep everything. */
export async function topicsWithRetention(executor: Executor): Promise<number[]> {
  const { rows } = await executor.query<{ topicId: number }>(
    `SELECT topic_id AS "topicId" FROM tallyman.topic WHERE retention_ms IS NOT NULL ORDER BY topic_id`,
  );
  return rows.map((row) => row.topicId);
}

/** One step of a sweep: how many messages went, and where the next step goes on; null at the end. */
export interface SweepStep {
  readonly deleted: number;
  readonly next: number | null;
}

/**
 * Looks at up to `limit` messages behind `after`, and of those past the topic's retention deletes the ones that no
 * group still has to acknowledge and no dead letter refers to. Positions grow with time: a page that holds a younger
 * message is the last, and what is behind it is not read. Call after `lockGroupsShared`, so that no seek brings one
 * back meanwhile.
 */
export async function sweepStep(
  tx: Transaction,
  input: { topicId: number; after: number; limit: number },
): Promise<SweepStep> {
  const { rows } = await tx.query<SweepStep>(
    `WITH page AS MATERIALIZED (
       SELECT m.message_id,
              m.published_at < (SELECT clock_timestamp()) - t.retention_ms * interval '1 ms' AS is_past
       FROM tallyman.topic_message m JOIN tallyman.topic t USING (topic_id)
       WHERE m.topic_id = $1 AND m.message_id > $2
       ORDER BY m.message_id LIMIT $3
     ), deleted AS (
       DELETE FROM tallyman.topic_message m
       WHERE m.topic_id = $1 AND m.message_id = ANY (ARRAY(
         SELECT p.message_id FROM page p
         WHERE p.is_past AND NOT EXISTS (
             SELECT FROM tallyman.topic_group g JOIN tallyman.topic_delivery d USING (group_id)
             WHERE g.topic_id = $1 AND d.message_id = p.message_id)
           AND NOT EXISTS (
             SELECT FROM tallyman.topic_message letter WHERE letter.origin_message_id = p.message_id)))
       RETURNING 1
     )
     SELECT (SELECT count(*) FROM deleted) AS deleted,
            CASE WHEN count(*) = $3 AND bool_and(is_past) THEN max(message_id) END AS next
     FROM page`,
    [input.topicId, input.after, input.limit],
  );
  return rows[0] as SweepStep;
}
