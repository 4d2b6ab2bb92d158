import type { Executor, Transaction } from "../../database/index.ts";

/** The channel of all topics; the payload says which one has something. */
export const topicChannel = "tallyman_topic";

/** Tells whoever listens that a topic has something, when the caller's transaction commits. */
export async function sendHintWith(tx: Transaction, payload: string): Promise<void> {
  await tx.query("SELECT pg_notify($1, $2)", [topicChannel, payload]);
}

/**
 * Tells whoever listens that a topic has something, at once. A hint need not survive a crash, so its own
 * little transaction does not wait for the disk.
 */
export async function sendHint(executor: Executor, payload: string): Promise<void> {
  await executor.query("SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)", [
    topicChannel,
    payload,
  ]);
}
