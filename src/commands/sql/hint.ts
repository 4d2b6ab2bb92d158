import type { Executor } from "../../database/index.ts";

/** Sends notifications, many in one statement. It writes nothing else, so its commit does not wait for the disk. */
export async function notify(
  executor: Executor,
  hints: readonly { readonly channel: string; readonly payload: string }[],
): Promise<void> {
  await executor.query(
    "SELECT pg_notify(h.channel, h.payload) FROM unnest($1::text[], $2::text[]) AS h (channel, payload)",
    [hints.map(({ channel }) => channel), hints.map(({ payload }) => payload)],
  );
}
