import type { Transaction } from "../../database/index.ts";

/** Messages for one topic and run, in order. */
export interface PublishInput {
  readonly topicId: number;
  readonly runId: string;
  readonly keys: readonly (string | null)[];
  readonly payloads: readonly Uint8Array[];
}

/**
 * Stores messages with a delivery for every group, and returns the keys of those that were stored; a
 * key that was there already leaves everything as it is. Call after `lockGroupsShared`.
 */
export async function publish(
  tx: Transaction,
  { topicId, runId, keys, payloads }: PublishInput,
): Promise<(string | null)[]> {
  const { rows } = await tx.query<{ key: string | null }>(
    `WITH inserted AS (
       INSERT INTO tallyman.topic_message (topic_id, run_id, message_key, payload)
       SELECT $1, $2, given.message_key, given.payload
       FROM unnest($3::text[], $4::bytea[]) WITH ORDINALITY AS given (message_key, payload, place)
       ORDER BY given.place
       ON CONFLICT (topic_id, run_id, message_key) WHERE message_key IS NOT NULL DO NOTHING
       RETURNING message_id, message_key
     ), delivered AS (
       INSERT INTO tallyman.topic_delivery (group_id, message_id, run_id)
       SELECT g.group_id, inserted.message_id, $2
       FROM inserted CROSS JOIN tallyman.topic_group g WHERE g.topic_id = $1
     )
     SELECT message_key AS key FROM inserted`,
    [topicId, runId, keys, payloads],
  );
  return rows.map((row) => row.key);
}
