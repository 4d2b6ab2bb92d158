import type { Executor } from "../../database/index.ts";

/** A coordinator as the database knows it. */
export interface CoordinatorInfo {
  readonly coordinatorId: string;
  readonly host: string;
  readonly port: number;
  /** Whether its lease is in force. */
  readonly isLeader: boolean;
  readonly status: "ONLINE" | "OFFLINE";
  readonly registeredAt: Date;
  readonly lastHeartbeatTime: Date;
  /** When it was elected; null unless it leads. */
  readonly electedAt: Date | null;
}

/** A coordinator that presents itself, or is presented. */
export interface CoordinatorRegistration {
  readonly coordinatorId: string;
  /** Boot id; null when it is presented over HTTP. */
  readonly bootId: string | null;
  readonly host: string;
  readonly port: number;
  readonly heartbeatTimeoutMs: number;
}

/**
 * Stores a coordinator. A process always may: it takes the place of an earlier one. Whoever names no process may
 * not change the address of one that lives; false then.
 */
export async function registerCoordinator(
  executor: Executor,
  { coordinatorId, bootId, host, port, heartbeatTimeoutMs }: CoordinatorRegistration,
): Promise<boolean> {
  const { rowCount } = await executor.query(
    `INSERT INTO tallyman.scheduler_coordinator AS c (coordinator_id, boot_id, host, port, heartbeat_timeout_ms)
     VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (coordinator_id) DO UPDATE
     SET boot_id = CASE WHEN excluded.boot_id IS NULL AND ${isAlive("c")} THEN c.boot_id ELSE excluded.boot_id END,
         host = excluded.host, port = excluded.port, heartbeat_timeout_ms = excluded.heartbeat_timeout_ms,
         last_heartbeat_time = clock_timestamp()
     WHERE excluded.boot_id IS NOT NULL OR c.boot_id IS NULL OR NOT ${isAlive("c")}
        OR (c.host = excluded.host AND c.port = excluded.port)`,
    [coordinatorId, bootId, host, port, heartbeatTimeoutMs],
  );
  return rowCount === 1;
}

/** Stores a coordinator that was forgotten; false: another process has its place. */
export async function registerCoordinatorAgain(
  executor: Executor,
  { coordinatorId, bootId, host, port, heartbeatTimeoutMs }: CoordinatorRegistration,
): Promise<boolean> {
  const { rowCount } = await executor.query(
    `INSERT INTO tallyman.scheduler_coordinator (coordinator_id, boot_id, host, port, heartbeat_timeout_ms)
     VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
    [coordinatorId, bootId, host, port, heartbeatTimeoutMs],
  );
  return rowCount === 1;
}

/** Says that a coordinator is alive; never touches the lease. False: not known, or known as another process. */
export async function heartbeatCoordinator(
  executor: Executor,
  coordinatorId: string,
  bootId: string | null,
): Promise<boolean> {
  const { rowCount } = await executor.query(
    `UPDATE tallyman.scheduler_coordinator SET last_heartbeat_time = clock_timestamp()
     WHERE coordinator_id = $1 AND ($2::uuid IS NULL OR boot_id = $2)`,
    [coordinatorId, bootId],
  );
  return rowCount === 1;
}

/** Forgets a coordinator that has stopped, unless another process has its place. */
export async function deleteCoordinator(
  executor: Executor,
  coordinatorId: string,
  bootId: string,
): Promise<void> {
  await executor.query(
    "DELETE FROM tallyman.scheduler_coordinator WHERE coordinator_id = $1 AND boot_id = $2",
    [coordinatorId, bootId],
  );
}

/** All coordinators, or one, in the order of ids. */
export async function selectCoordinators(
  executor: Executor,
  coordinatorId?: string,
): Promise<CoordinatorInfo[]> {
  const { rows } = await executor.query<CoordinatorInfo>(
    `SELECT c.coordinator_id AS "coordinatorId", c.host, c.port, l.holder IS NOT NULL AS "isLeader",
            CASE WHEN ${isAlive("c")} THEN 'ONLINE' ELSE 'OFFLINE' END AS status, c.registered_at AS "registeredAt",
            c.last_heartbeat_time AS "lastHeartbeatTime", l.elected_at AS "electedAt"
     FROM tallyman.scheduler_coordinator c
     LEFT JOIN tallyman.scheduler_leader_lease l
       ON l.name = 'coordinator' AND l.holder = c.boot_id AND l.expires_at > clock_timestamp()
     WHERE $1::text IS NULL OR c.coordinator_id = $1 ORDER BY c.coordinator_id`,
    [coordinatorId ?? null],
  );
  return rows;
}

function isAlive(alias: string): string {
  return `(${alias}.last_heartbeat_time + ${alias}.heartbeat_timeout_ms * interval '1 millisecond' > clock_timestamp())`;
}
