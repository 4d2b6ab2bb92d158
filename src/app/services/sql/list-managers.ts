import type { Executor } from "../../../database/index.ts";
import type { ServiceState } from "../../../runtime/index.ts";

/** A service of a running process, as the database knows it. */
export interface ListedService {
  readonly name: string;
  readonly className: string;
  readonly state: ServiceState;
  readonly isStarting: boolean;
  /** How long it has been in this state, by the database's clock. */
  readonly sinceMs: number;
  readonly restarts: number;
  readonly error: string | null;
}

/** A process that runs services, as the database knows it. */
export interface ListedManager {
  readonly managerId: string;
  readonly name: string;
  readonly hostname: string;
  readonly pid: number;
  readonly startedAt: Date;
  /** It has been silent for so long that it is probably gone; its states are the last that it told. */
  readonly isLost: boolean;
  readonly heartbeatAgeMs: number;
  /** In the order of their start. */
  readonly services: readonly ListedService[];
}

/** Every process that runs services, the oldest first. */
export async function listManagers(executor: Executor): Promise<ListedManager[]> {
  const { rows } = await executor.query<ListedManager>(
    `WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now)
     SELECT m.manager_id AS "managerId", m.name, m.hostname, m.pid, m.started_at AS "startedAt",
            (extract(epoch FROM now - m.heartbeat_at) * 1000)::int8 AS "heartbeatAgeMs",
            now > m.heartbeat_at + m.lost_after_ms * interval '1 ms' AS "isLost",
            coalesce(jsonb_agg(jsonb_build_object(
              'name', s.name, 'className', s.class_name, 'state', s.state, 'isStarting', s.is_starting,
              'sinceMs', greatest(0, (extract(epoch FROM now - s.since) * 1000)::int8),
              'restarts', s.restarts, 'error', s.error_message) ORDER BY s.position)
              FILTER (WHERE s.name IS NOT NULL), '[]') AS services
     FROM clock CROSS JOIN tallyman.service_manager m LEFT JOIN tallyman.service s USING (manager_id)
     GROUP BY m.manager_id, now
     ORDER BY m.started_at, m.manager_id`,
  );
  return rows;
}
