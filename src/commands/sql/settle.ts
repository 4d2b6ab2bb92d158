import type { Executor } from "../../database/index.ts";
import type { CommandStatus } from "../command.ts";

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
  /** The state that it must still be in. */
  readonly from: CommandStatus;
  /** The lease that it must still be under. */
  readonly leaseToken?: number;
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
  /** Ids of the commands that took the step; the others were no longer in its state or lease. */
  readonly ids: ReadonlySet<number>;
  readonly completedBatches: readonly string[];
}

/**
 * Settles a group of commands with audit, replies and batch counters, in one round trip and one transaction.
 * Sorted by id, so that groups which overlap wait for each other instead of deadlocking.
 *
 * @param details added to every audit row
 */
export async function settleCommands(
  executor: Executor,
  settlements: readonly Settlement[],
  details?: Readonly<Record<string, unknown>>,
): Promise<Settled> {
  const sorted = settlements.toSorted((a, b) => a.id - b.id);
  const { rows } = await executor.query<{ settled: (number | string)[]; completedBatches: string[] }>(
    `SELECT settled, completed_batches AS "completedBatches" FROM tallyman.command_bus_settle(
       $1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::integer[], $7::double precision[],
       $8::jsonb[], $9::text[], $10::text[], $11::text[], $12::jsonb)`,
    [
      sorted.map(({ id }) => id),
      sorted.map(({ from }) => from),
      sorted.map(({ leaseToken }) => leaseToken ?? null),
      sorted.map(({ outcome }) => outcome),
      sorted.map(({ event }) => event ?? null),
      sorted.map(({ isAttempt }) => (isAttempt ? 1 : 0)),
      column(sorted, ({ delayMs }) => delayMs),
      column(sorted, ({ result }) => result),
      column(sorted, ({ error }) => error?.code),
      column(sorted, ({ error }) => error?.message),
      column(sorted, ({ error }) => error?.signature),
      details === undefined ? null : JSON.stringify(details),
    ],
  );
  const { settled = [], completedBatches = [] } = rows[0] ?? {};
  return { ids: new Set(settled.map(Number)), completedBatches };
}

/** A parameter array, or null when all would be null: most groups are all successes without results. */
function column<T>(
  rows: readonly Settlement[],
  value: (row: Settlement) => T | undefined,
): (T | null)[] | null {
  return rows.some((row) => value(row) !== undefined) ? rows.map((row) => value(row) ?? null) : null;
}
