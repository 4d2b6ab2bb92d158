import type { Executor } from "../../database/index.ts";

/** A reply as it is read from its queue. */
export interface ReplyRow {
  readonly replyId: number;
  readonly domain: string;
  readonly commandId: string;
  readonly commandType: string;
  readonly correlationId: string;
  readonly batchId: string | null;
  readonly outcome: "COMPLETED" | "FAILED" | "CANCELED";
  readonly result: unknown;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
  readonly createdAt: Date;
  readonly deliveryCount: number;
}

/** Takes the oldest visible replies and hides them from other readers for a while. */
export async function receiveReplies(
  executor: Executor,
  queue: string,
  limit: number,
  hideMs: number,
): Promise<ReplyRow[]> {
  const { rows } = await executor.query<ReplyRow>(
    `WITH next AS MATERIALIZED (
       SELECT r.reply_id FROM tallyman.command_bus_reply r
       WHERE r.reply_queue = $1 AND r.visible_at <= clock_timestamp()
       ORDER BY r.reply_id LIMIT $2 FOR UPDATE SKIP LOCKED)
     UPDATE tallyman.command_bus_reply r
     SET visible_at = clock_timestamp() + $3 * interval '1 millisecond', delivery_count = r.delivery_count + 1
     FROM next WHERE r.reply_id = next.reply_id
     RETURNING r.reply_id AS "replyId", r.domain, r.command_id AS "commandId", r.command_type AS "commandType",
       r.correlation_id AS "correlationId", r.batch_id AS "batchId", r.outcome, r.result, r.error_code AS "errorCode",
       r.error_message AS "errorMessage", r.created_at AS "createdAt", r.delivery_count AS "deliveryCount"`,
    [queue, limit, hideMs],
  );
  return rows.toSorted((a, b) => a.replyId - b.replyId);
}

/** Shows replies that were taken to all readers again; those delivered again meanwhile stay hidden. */
export async function giveBackReplies(
  executor: Executor,
  replies: readonly Pick<ReplyRow, "replyId" | "deliveryCount">[],
): Promise<void> {
  await executor.query(
    `UPDATE tallyman.command_bus_reply r SET visible_at = clock_timestamp()
     FROM unnest($1::bigint[], $2::integer[]) AS d (reply_id, delivery_count)
     WHERE r.reply_id = d.reply_id AND r.delivery_count = d.delivery_count`,
    [replies.map(({ replyId }) => replyId), replies.map(({ deliveryCount }) => deliveryCount)],
  );
}

/** Removes replies that were taken; those delivered again meanwhile stay. */
export async function acknowledgeReplies(
  executor: Executor,
  replies: readonly Pick<ReplyRow, "replyId" | "deliveryCount">[],
): Promise<number> {
  const { rowCount } = await executor.query(
    `DELETE FROM tallyman.command_bus_reply r
     USING unnest($1::bigint[], $2::integer[]) AS d (reply_id, delivery_count)
     WHERE r.reply_id = d.reply_id AND r.delivery_count = d.delivery_count`,
    [replies.map(({ replyId }) => replyId), replies.map(({ deliveryCount }) => deliveryCount)],
  );
  return rowCount ?? 0;
}
