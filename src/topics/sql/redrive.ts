import type { Transaction } from "../../database/index.ts";

/** Which dead letters go back. */
export interface RedriveInput {
  readonly deadLetterTopicId: number;
  readonly group: string | null;
  readonly runId: string | null;
  readonly limit: number;
}

/**
 * Gives the messages behind dead letters back to the groups that gave them up, and deletes the letters;
 * returns how many. Letters of a group that is gone stay. Call after `lockGroupsShared` of the source
 * topic, so that no group goes meanwhile.
 */
export async function redrive(tx: Transaction, input: RedriveInput): Promise<number> {
  const { rows } = await tx.query<{ count: number }>(
    `WITH chosen AS MATERIALIZED (
       SELECT m.message_id FROM tallyman.topic_message m
       JOIN tallyman.topic_group g ON g.group_id = m.origin_group_id
       WHERE m.topic_id = $1 AND ($2::text IS NULL OR g.name = $2) AND ($3::text IS NULL OR m.run_id = $3)
       ORDER BY m.message_id LIMIT $4 FOR UPDATE OF m SKIP LOCKED
     ), letter AS (
       DELETE FROM tallyman.topic_message
       WHERE topic_id = $1 AND message_id = ANY (ARRAY(SELECT message_id FROM chosen))
       RETURNING message_id, run_id, origin_group_id, origin_message_id
     ), forgotten AS (
       DELETE FROM tallyman.topic_delivery d USING tallyman.topic_group g, letter
       WHERE g.topic_id = $1 AND d.group_id = g.group_id AND d.message_id = letter.message_id
     ), redelivered AS (
       INSERT INTO tallyman.topic_delivery (group_id, message_id, run_id)
       SELECT origin_group_id, origin_message_id, run_id FROM letter
       ON CONFLICT (group_id, message_id) DO NOTHING
     )
     SELECT count(*) AS count FROM letter`,
    [input.deadLetterTopicId, input.group, input.runId, input.limit],
  );
  return rows[0]?.count ?? 0;
}
