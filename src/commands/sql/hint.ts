import type { Executor } from "../../database/index.ts";

interface Notification {
  readonly channel: string;
  readonly payload: string;
}

/** Sends notifications with the commit of a transaction. */
export async function notifyWith(tx: Executor, notifications: readonly Notification[]): Promise<void> {
  await tx.query(
    "SELECT pg_notify(h.channel, h.payload) FROM unnest($1::text[], $2::text[]) AS h (channel, payload)",
    columns(notifications),
  );
}

/** Sends notifications now, many in one statement that does not wait for the disk: a hint may be lost. */
export async function notify(executor: Executor, notifications: readonly Notification[]): Promise<void> {
  await executor.query(
    `SELECT set_config('synchronous_commit', 'off', true), pg_notify(h.channel, h.payload)
     FROM unnest($1::text[], $2::text[]) AS h (channel, payload)`,
    columns(notifications),
  );
}

function columns(notifications: readonly Notification[]): [string[], string[]] {
  return [notifications.map(({ channel }) => channel), notifications.map(({ payload }) => payload)];
}
