import type { Executor } from "../../database/index.ts";

/** A command under a worker's lease. */
export interface ClaimedRow {
  readonly leaseToken: number;
  readonly id: number;
  /** Which handing out of the command this is; its outcome counts only if none came after. */
  readonly delivery: number;
  readonly commandId: string;
  readonly commandType: string;
  readonly batchId: string | null;
  readonly correlationId: string;
  readonly replyTo: string | null;
  readonly priority: number;
  readonly attempts: number;
  readonly maxAttempts: number | null;
  readonly lostLeases: number;
  /** As a number, for most handlers never ask. */
  readonly createdMs: number;
  readonly data: unknown;
}

/** What a worker asks for. */
export interface ClaimRequest {
  readonly domain: string;
  readonly limit: number;
  readonly leaseMs: number;
  readonly worker: string;
  /** Earlier leases of this worker that cover nothing any more. */
  readonly endedLeases: readonly number[];
}

/** Claims the most urgent, oldest ready commands under one lease. */
export async function claimCommands(executor: Executor, request: ClaimRequest): Promise<ClaimedRow[]> {
  const { rows } = await executor.query<ClaimedRow>(
    `SELECT lease_token AS "leaseToken", id, delivery, command_id AS "commandId", command_type AS "commandType", batch_id AS "batchId",
            correlation_id AS "correlationId", reply_to AS "replyTo", priority, attempts, max_attempts AS "maxAttempts",
            lost_leases AS "lostLeases", created_ms AS "createdMs", data
     FROM tallyman.command_bus_claim($1, $2, $3, $4, $5::bigint[])`,
    [request.domain, request.limit, request.leaseMs, request.worker, request.endedLeases],
  );
  return rows;
}

/** Prolongs leases; those missing from the answer are lost. */
export async function renewLeases(
  executor: Executor,
  leaseTokens: readonly number[],
  leaseMs: number,
): Promise<Set<number>> {
  const { rows } = await executor.query<{ token: number }>(
    `UPDATE tallyman.command_bus_lease
     SET lease_until = greatest(lease_until, clock_timestamp() + $2 * interval '1 millisecond')
     WHERE lease_token = ANY ($1::bigint[]) RETURNING lease_token AS token`,
    [leaseTokens, leaseMs],
  );
  return new Set(rows.map(({ token }) => token));
}

/** Forgets leases that cover nothing any more. */
export async function endLeases(executor: Executor, leaseTokens: readonly number[]): Promise<void> {
  await executor.query("DELETE FROM tallyman.command_bus_lease WHERE lease_token = ANY ($1::bigint[])", [
    leaseTokens,
  ]);
}

/** Locks a command for the rest of the transaction; false when it is no longer this claim's. */
export async function lockClaimed(
  executor: Executor,
  { id, delivery }: Pick<ClaimedRow, "id" | "delivery">,
): Promise<boolean> {
  const { rowCount } = await executor.query(
    `SELECT FROM tallyman.command_bus_command
     WHERE id = $1 AND delivery = $2 AND status = 'PENDING' FOR UPDATE`,
    [id, delivery],
  );
  return rowCount === 1;
}
