import type { Executor, Transaction } from "../../database/index.ts";

/** Messages of one group as their holder names them; the arrays run in step, ordered by message. */
export interface HeldMessages {
  readonly groupId: number;
  readonly messageIds: readonly number[];
  readonly claimVersions: readonly number[];
}

type SettledRow = { messageId: number | string };

function positions(rows: readonly SettledRow[]): Set<number> {
  return new Set(rows.map((row) => Number(row.messageId)));
}

/**
 * Rows that are still held under the version that the holder knows. Only a claimed row has an owner; asked
 * for its state instead, the planner takes the index of waiting rows and reads all of them (1.4 ms for 100
 * of 1,000, growing with what others hold).
 */
const held = `d.group_id = $1 AND d.message_id = given.message_id
  AND d.claim_version = given.claim_version AND d.owner IS NOT NULL`;

const given = "unnest($2::int8[], $3::int8[]) AS given (message_id, claim_version)";

/** Deletes the deliveries that are still held; returns their messages. */
export async function acknowledge(executor: Executor, messages: HeldMessages): Promise<Set<number>> {
  const { rows } = await executor.query<SettledRow>(
    `DELETE FROM tallyman.topic_delivery d USING ${given} WHERE ${held} RETURNING d.message_id AS "messageId"`,
    [messages.groupId, messages.messageIds, messages.claimVersions],
  );
  return positions(rows);
}

/** Hands the deliveries back that are still held, at once or after a delay; returns their messages. */
export async function handBack(
  executor: Executor,
  messages: HeldMessages,
  { delayMs, error }: { delayMs: number; error: string | undefined },
): Promise<Set<number>> {
  const { rows } = await executor.query<SettledRow>(
    `UPDATE tallyman.topic_delivery d
     SET state = CASE WHEN $4::float8 > 0 THEN 'delayed' ELSE 'ready' END,
         visible_at = CASE WHEN $4::float8 > 0 THEN clock_timestamp() + $4::float8 * interval '1 ms' END,
         owner = NULL, last_error = $5
     FROM ${given} WHERE ${held} RETURNING d.message_id AS "messageId"`,
    [messages.groupId, messages.messageIds, messages.claimVersions, delayMs, error ?? null],
  );
  return positions(rows);
}

/**
 * Begins the claims anew that are still held and, by the database's clock, have not run out; returns
 * their messages. A claim that ran out may be given to another consumer at any moment.
 */
export async function extendClaims(
  executor: Executor,
  messages: HeldMessages,
  claimTimeoutMs: number,
): Promise<Set<number>> {
  const { rows } = await executor.query<SettledRow>(
    `UPDATE tallyman.topic_delivery d
     SET visible_at = coalesce(clock_timestamp() + $4::float8 * interval '1 ms', 'infinity')
     FROM ${given} WHERE ${held} AND d.visible_at > clock_timestamp() RETURNING d.message_id AS "messageId"`,
    [
      messages.groupId,
      messages.messageIds,
      messages.claimVersions,
      claimTimeoutMs === 0 ? null : claimTimeoutMs,
    ],
  );
  return positions(rows);
}

/**
 * Acknowledges one message and stores its dead letter, both or neither; returns whether it was still
 * held. Call after `lockGroupsShared` of the dead-letter topic.
 */
export async function moveToDeadLetters(
  tx: Transaction,
  message: HeldMessages,
  letter: { topicId: number; runId: string; payload: Uint8Array },
): Promise<Set<number>> {
  const { rows } = await tx.query<SettledRow>(
    `WITH acknowledged AS (
       DELETE FROM tallyman.topic_delivery d USING ${given} WHERE ${held} RETURNING d.message_id
     ), letter AS (
       INSERT INTO tallyman.topic_message (topic_id, run_id, payload, origin_group_id, origin_message_id)
       SELECT $4, $5, $6, $1, message_id FROM acknowledged RETURNING message_id
     ), delivered AS (
       INSERT INTO tallyman.topic_delivery (group_id, message_id, run_id)
       SELECT g.group_id, letter.message_id, $5
       FROM letter CROSS JOIN tallyman.topic_group g WHERE g.topic_id = $4
     )
     SELECT message_id AS "messageId" FROM acknowledged`,
    [
      message.groupId,
      message.messageIds,
      message.claimVersions,
      letter.topicId,
      letter.runId,
      letter.payload,
    ],
  );
  return positions(rows);
}
