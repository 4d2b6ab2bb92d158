import type { Executor } from "../../../database/index.ts";
import type { ServiceAction, ServiceStatus } from "../managed-service.ts";

/** A manager as its row has it. */
export interface ManagerRow {
  readonly managerId: string;
  readonly name: string;
  readonly hostname: string;
  readonly pid: number;
  readonly lostAfterMs: number;
}

/** A request that this manager has just taken. */
export interface TakenRequest {
  readonly requestId: number;
  readonly service: string;
  readonly action: ServiceAction;
  readonly requestedBy: string;
}

/**
 * One turn of a manager, in one round trip: it is alive, its services are like this, and what is asked of it?
 * Rows that did not change are not written.
 */
export async function publishServices(
  executor: Executor,
  manager: ManagerRow,
  services: readonly ServiceStatus[],
): Promise<TakenRequest[]> {
  const states = services.map((service, position) => ({
    name: service.name,
    class_name: service.className,
    position,
    state: service.state,
    is_starting: service.isStarting,
    restarts: service.restarts,
    error_message: service.error ?? null,
  }));
  const { rows } = await executor.query<TakenRequest>(
    `WITH manager AS (
       INSERT INTO tallyman.service_manager AS known (manager_id, name, hostname, pid, lost_after_ms)
       VALUES ($1::uuid, $2, $3, $4, $5)
       ON CONFLICT (manager_id) DO UPDATE SET heartbeat_at = clock_timestamp()
     ), states AS (
       INSERT INTO tallyman.service AS known
         (manager_id, name, class_name, position, state, is_starting, restarts, error_message)
       SELECT $1::uuid, name, class_name, position, state, is_starting, restarts, error_message
       FROM jsonb_to_recordset($6::jsonb) AS given (name text, class_name text, position int, state text,
         is_starting boolean, restarts int, error_message text)
       ON CONFLICT (manager_id, name) DO UPDATE
         SET since = CASE WHEN known.state = excluded.state THEN known.since ELSE clock_timestamp() END,
             state = excluded.state, is_starting = excluded.is_starting, restarts = excluded.restarts,
             error_message = excluded.error_message
         WHERE (known.state, known.is_starting, known.restarts, known.error_message)
           IS DISTINCT FROM (excluded.state, excluded.is_starting, excluded.restarts, excluded.error_message)
     ), taken AS (
       UPDATE tallyman.service_request SET taken_at = clock_timestamp()
       WHERE manager_id = $1::uuid AND taken_at IS NULL
       RETURNING request_id, service, action, requested_by
     )
     SELECT request_id AS "requestId", service, action, requested_by AS "requestedBy"
     FROM taken ORDER BY request_id`,
    [
      manager.managerId,
      manager.name,
      manager.hostname,
      manager.pid,
      manager.lostAfterMs,
      JSON.stringify(states),
    ],
  );
  return rows;
}

/** The manager is gone: so are its services and what nobody has taken. False when it was not there. */
export async function removeManager(executor: Executor, managerId: string): Promise<boolean> {
  const { rowCount } = await executor.query(
    `WITH gone AS (DELETE FROM tallyman.service_request WHERE manager_id = $1 AND taken_at IS NULL)
     DELETE FROM tallyman.service_manager WHERE manager_id = $1`,
    [managerId],
  );
  return rowCount === 1;
}

/** Forgets managers that were lost long ago, and old requests. */
export async function pruneServices(
  executor: Executor,
  ages: { readonly managerMs: number; readonly requestMs: number },
): Promise<void> {
  await executor.query(
    `WITH old AS (
       DELETE FROM tallyman.service_request
       WHERE requested_at < clock_timestamp() - $2::float8 * interval '1 ms'
     )
     DELETE FROM tallyman.service_manager
     WHERE heartbeat_at < clock_timestamp() - $1::float8 * interval '1 ms'`,
    [ages.managerMs, ages.requestMs],
  );
}
