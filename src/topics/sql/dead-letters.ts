import type { Executor } from "../../database/index.ts";

/** Which dead letters. */
export interface DeadLetterFilter {
  readonly topicIds: readonly number[];
  readonly group: string | null;
  readonly runId: string | null;
}

/** A dead letter as it is stored. */
export interface DeadLetterRow {
  readonly position: number;
  readonly deadLetterTopic: string;
  readonly runId: string | null;
  readonly group: string | null;
  readonly publishedAt: Date;
  readonly payload: Uint8Array;
}

/** Dead letters behind a position, the oldest first. */
export async function selectDeadLetters(
  executor: Executor,
  { topicIds, group, runId }: DeadLetterFilter,
  page: { readonly limit: number; readonly after: number },
): Promise<DeadLetterRow[]> {
  const { rows } = await executor.query<DeadLetterRow>(
    `SELECT m.message_id AS position, t.name AS "deadLetterTopic", nullif(m.run_id, '') AS "runId",
            g.name AS "group", m.published_at AS "publishedAt", m.payload
     FROM tallyman.topic_message m JOIN tallyman.topic t USING (topic_id)
     LEFT JOIN tallyman.topic_group g ON g.group_id = m.origin_group_id
     WHERE m.topic_id = ANY ($1::int[]) AND m.message_id > $4
       AND ($2::text IS NULL OR g.name = $2) AND ($3::text IS NULL OR m.run_id = $3)
     ORDER BY m.message_id LIMIT $5`,
    [topicIds, group, runId, page.after, page.limit],
  );
  return rows;
}

/** How many dead letters a re-drive would take back: those of groups that are still there. */
export async function countRedrivable(
  executor: Executor,
  { topicIds, group, runId }: DeadLetterFilter,
): Promise<number> {
  const { rows } = await executor.query<{ count: number }>(
    `SELECT count(*) AS count FROM tallyman.topic_message m
     JOIN tallyman.topic_group g ON g.group_id = m.origin_group_id
     WHERE m.topic_id = ANY ($1::int[]) AND ($2::text IS NULL OR g.name = $2)
       AND ($3::text IS NULL OR m.run_id = $3)`,
    [topicIds, group, runId],
  );
  return rows[0]?.count ?? 0;
}

/** All dead letters of all topics, counted up to `max`: a bounded look, whatever lies there. */
export async function countDeadLetters(
  executor: Executor,
  deadLetterType: string,
  max: number,
): Promise<number> {
  const { rows } = await executor.query<{ count: number }>(
    `SELECT count(*) AS count FROM (
       SELECT FROM tallyman.topic t JOIN tallyman.topic_message m USING (topic_id)
       WHERE t.message_type = $1 LIMIT $2) letters`,
    [deadLetterType, max],
  );
  return rows[0]?.count ?? 0;
}
