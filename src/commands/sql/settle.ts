import type { Executor } from "../../database/index.ts";
import { column } from "./enqueue.ts";

/** Where a command goes next; see `command_bus_settle`. */
export type Outcome =
  | "COMPLETED"
  | "FAILED"
  | "CANCELED"
  | "IN_TROUBLESHOOTING_QUEUE"
  | "RETRY"
  | "RELEASED"
  | "REQUEUED";

/** One command's step from a state to the next. */
export interface Settlement {
  readonly id: number;
  /** The delivery that it must still have; absent for an operator, who holds the command's lock. */
  readonly delivery?: number;
  readonly outcome: Outcome;
  /** Audit event; none when absent. */
  readonly event?: string;
  /** True when a handler was started, which is what counts as an attempt. */
  readonly isAttempt?: boolean;
  readonly delayMs?: number;
  /** JSON text. */
  readonly result?: string;
  readonly error?: { readonly code: string; readonly message: string; readonly signature: string };
}

/** What became of a group of settlements. */
export interface Settled {
  /** Ids of the commands that did not take the step: no longer in the state or delivery that it is from. */
  readonly stale: ReadonlySet<number>;
  readonly completedBatches: readonly string[];
}

/** What a group of settlements has in common. */
export interface SettleOptions {
  /** The state that the commands must still be in: held by a worker, or in the troubleshooting queue. */
  readonly from: "IN_PROGRESS" | "IN_TROUBLESHOOTING_QUEUE";
  /** Added to every audit row. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/**
 * Settles a group of commands with audit, replies and batch counters, in one round trip and one transaction.
 * Sorted by id, so that groups which overlap wait for each other instead of deadlocking.
 */
export async function settleCommands(
  executor: Executor,
  settlements: readonly Settlement[],
  { from, details }: SettleOptions,
): Promise<Settled> {
  const sorted = settlements.toSorted((a, b) => a.id - b.id);
  const { rows } = await executor.query<{ stale: (number | string)[]; completedBatches: string[] }>(
    `SELECT stale, completed_batches AS "completedBatches" FROM tallyman.command_bus_settle(
       $1, $2::bigint[], $3::integer[], $4::text[], $5::text[], $6::integer[], $7::double precision[],
       $8::jsonb[], $9::text[], $10::text[], $11::text[], $12::jsonb)`,
    [
      from === "IN_PROGRESS" ? "PENDING" : from,
      sorted.map(({ id }) => id),
      column(sorted, ({ delivery }) => delivery),
      sorted.map(({ outcome }) => outcome),
      column(sorted, ({ event }) => event),
      sorted.map(({ isAttempt }) => (isAttempt ? 1 : 0)),
      column(sorted, ({ delayMs }) => delayMs),
      column(sorted, ({ result }) => result),
      column(sorted, ({ error }) => error?.code),
      column(sorted, ({ error }) => error?.message),
      column(sorted, ({ error }) => error?.signature),
      details === undefined ? null : JSON.stringify(details),
    ],
  );
  const { stale = [], completedBatches = [] } = rows[0] ?? {};
  return { stale: new Set(stale.map(Number)), completedBatches };
}
