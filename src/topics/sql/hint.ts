import type { Executor } from "../../database/index.ts";

/** The channel of all topics; the payload says which one has something. */
export const topicChannel = "tallyman_topic";

/**
 * Tells whoever listens that a topic has something: at once, or when the caller's transaction commits. By itself it
 * writes nothing, so its commit does not wait for the disk.
 */
export async function sendHint(executor: Executor, payload: string): Promise<void> {
  await executor.query("SELECT pg_notify($1, $2)", [topicChannel, payload]);
}
