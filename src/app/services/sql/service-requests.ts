import type { Executor } from "../../../database/index.ts";
import type { ServiceState } from "../../../runtime/index.ts";
import type { ServiceAction } from "../managed-service.ts";

/** What became of a request. */
export interface RequestOutcome {
  readonly isTaken: boolean;
  readonly isDone: boolean;
  readonly state: ServiceState | null;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
}

/** Asks a manager for something, and wakes it. */
export async function insertRequest(
  executor: Executor,
  request: {
    managerId: string;
    service: string;
    action: ServiceAction;
    requestedBy: string;
    channel: string;
  },
): Promise<number> {
  const { managerId, service, action, requestedBy, channel } = request;
  const { rows } = await executor.query<{ requestId: number }>(
    `WITH request AS (
       INSERT INTO tallyman.service_request (manager_id, service, action, requested_by)
       VALUES ($1::uuid, $2, $3, $4) RETURNING request_id
     )
     SELECT request_id AS "requestId", pg_notify($5, $1::uuid::text) FROM request`,
    [managerId, service, action, requestedBy, channel],
  );
  return Number(rows[0]?.requestId);
}

/** Tells what became of a request, and wakes whoever asked. */
export async function finishRequest(
  executor: Executor,
  requestId: number,
  outcome: { state: string | null; errorCode: string | null; errorMessage: string | null; channel: string },
): Promise<void> {
  await executor.query(
    `WITH done AS (
       UPDATE tallyman.service_request
       SET done_at = clock_timestamp(), state = $2, error_code = $3, error_message = $4
       WHERE request_id = $1 RETURNING request_id
     )
     SELECT pg_notify($5, request_id::text) FROM done`,
    [requestId, outcome.state, outcome.errorCode, outcome.errorMessage, outcome.channel],
  );
}

export async function readRequest(
  executor: Executor,
  requestId: number,
): Promise<RequestOutcome | undefined> {
  const { rows } = await executor.query<RequestOutcome>(
    `SELECT taken_at IS NOT NULL AS "isTaken", done_at IS NOT NULL AS "isDone", state,
            error_code AS "errorCode", error_message AS "errorMessage"
     FROM tallyman.service_request WHERE request_id = $1`,
    [requestId],
  );
  return rows[0];
}

/** Takes a request back that nobody has taken, so that it does not act when no one expects it any more. */
export async function withdrawRequest(executor: Executor, requestId: number): Promise<boolean> {
  const { rowCount } = await executor.query(
    "DELETE FROM tallyman.service_request WHERE request_id = $1 AND taken_at IS NULL",
    [requestId],
  );
  return rowCount === 1;
}
