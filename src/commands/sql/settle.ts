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

/** What commands that are settled together have in common. */
export interface Step {
  readonly outcome: Outcome;
  /** Audit event; none when absent. */
  readonly event?: string;
  /** True when a handler was started, which is what counts as an attempt. */
  readonly isAttempt?: boolean;
}

/** One command's step from a state to the next. */
export interface Settlement extends Step {
  readonly id: number;
  /** The delivery that it must still have; absent for an operator, who holds the command's lock. */
  readonly delivery?: number;
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

/** Where commands are settled from. */
export interface SettleOptions {
  /** The state that they must still be in: taken from the queue, held by a worker, or in the troubleshooting queue. */
  readonly from: "PENDING" | "IN_PROGRESS" | "IN_TROUBLESHOOTING_QUEUE";
  /** Added to every audit row. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** True for settlements that may share a call of {@link settleCommands}. */
export function haveSameStep(a: Step, b: Step): boolean {
  return a.outcome === b.outcome && a.event === b.event && a.isAttempt === b.isAttempt;
}

/**
 * Settles commands that take the same step, with audit, replies and batch counters, in one round trip and one
 * transaction. Sorted by id, so that groups which overlap wait for each other instead of deadlocking.
 *
 * @param settlements one or more, all of one step
 */
export async function settleCommands(
  executor: Executor,
  settlements: readonly Settlement[],
  { from, details }: SettleOptions,
): Promise<Settled> {
  const sorted = settlements.toSorted((a, b) => a.id - b.id);
  const step: Step = sorted[0] ?? { outcome: "COMPLETED" };
  const { rows } = await executor.query<{ stale: (number | string)[]; completedBatches: string[] }>(
    `SELECT stale, completed_batches AS "completedBatches" FROM tallyman.command_bus_settle($1, $2, $3, $4, $5::bigint[],
       $6::integer[], $7::double precision[], $8::jsonb[], $9::text[], $10::text[], $11::text[], $12::jsonb)`,
    [
      from === "IN_PROGRESS" ? "PENDING" : from,
      step.outcome,
      step.event ?? null,
      step.isAttempt ? 1 : 0,
      numberList(sorted.map(({ id }) => id)),
      sorted[0]?.delivery === undefined ? null : numberList(sorted.map(({ delivery }) => delivery ?? 0)),
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

/** PostgreSQL's text for a list of numbers; the driver would look at each one as if it were a text. */
function numberList(numbers: readonly number[]): string {
  return `{${numbers.join(",")}}`;
}
