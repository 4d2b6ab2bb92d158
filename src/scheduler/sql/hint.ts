import type { Executor } from "../../database/index.ts";

/** Sends a notification without payload. */
export async function notify(executor: Executor, channel: string): Promise<void> {
  await executor.query("SELECT pg_notify($1, '')", [channel]);
}
