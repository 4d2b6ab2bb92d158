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
 *
 * The payloads travel as one binary value and are cut apart by the server: an array of bytea would be
 * written and read as hexadecimal text.
 */
export async function publish(
  tx: Transaction,
  { topicId, runId, keys, payloads }: PublishInput,
): Promise<(string | null)[]> {
  const lengths = payloads.map(({ length }) => length);
  let next = 1;
  const starts = lengths.map((length) => {
    next += length;
    return next - length;
  });
  const { rows } = await tx.query<{ key: string | null }>(
    `WITH inserted AS (
       INSERT INTO tallyman.topic_message (topic_id, run_id, message_key, payload)
       SELECT $1, $2, given.message_key, substring($4::bytea FROM given.start FOR given.length)
       FROM unnest($3::text[], $5::int[], $6::int[]) WITH ORDINALITY AS given (message_key, start, length, place)
       ORDER BY given.place
       ON CONFLICT (topic_id, run_id, message_key) WHERE message_key IS NOT NULL DO NOTHING
       RETURNING message_id, message_key
     ), delivered AS (
       INSERT INTO tallyman.topic_delivery (group_id, message_id, run_id)
       SELECT g.group_id, inserted.message_id, $2
       FROM inserted CROSS JOIN tallyman.topic_group g WHERE g.topic_id = $1
     )
     SELECT message_key AS key FROM inserted`,
    [topicId, runId, keys, Buffer.concat(payloads), starts, lengths],
  );
  return rows.map((row) => row.key);
}
