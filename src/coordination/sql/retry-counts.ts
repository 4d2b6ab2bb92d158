import type { Executor } from "../../database/index.ts";

/** Counts one more failure; returns how many there are now. */
export async function incrementRetries(executor: Executor, messageId: string): Promise<number> {
  const { rows } = await executor.query<{ retries: number }>(
    `INSERT INTO tallyman.retry_count AS c (message_id, retries, last_retry_at)
     VALUES ($1, 1, clock_timestamp())
     ON CONFLICT (message_id) DO UPDATE SET retries = c.retries + 1, last_retry_at = clock_timestamp()
     RETURNING retries`,
    [messageId],
  );
  return Number(rows[0]?.retries ?? 0);
}

/** How often the message has failed. */
export async function readRetries(executor: Executor, messageId: string): Promise<number> {
  const { rows } = await executor.query<{ retries: number }>(
    "SELECT retries FROM tallyman.retry_count WHERE message_id = $1",
    [messageId],
  );
  return Number(rows[0]?.retries ?? 0);
}

/** Remembers when the message was given up; its count stays for the record. */
export async function markMovedToDlq(executor: Executor, messageId: string): Promise<void> {
  await executor.query(
    "UPDATE tallyman.retry_count SET moved_to_dlq_at = clock_timestamp() WHERE message_id = $1",
    [messageId],
  );
}

/** Forgets failures. */
export async function resetRetries(executor: Executor, messageIds: readonly string[]): Promise<void> {
  await executor.query("DELETE FROM tallyman.retry_count WHERE message_id = ANY ($1)", [messageIds]);
}
