import type { Executor } from "../../database/index.ts";
import type { FleetCounts, SegmentGrant, WorkerInfo, WorkerStatus } from "../worker-info.ts";

/** How a worker presents itself; `cap` undefined keeps what is stored, 0 for a new one. */
export interface Registration {
  readonly workerId: string;
  readonly bootId: string | null;
  readonly cap: number | null | undefined;
  readonly heartbeatTimeoutMs: number;
}

/** Stores a worker as ONLINE; false when a process holds the id and the caller names none. */
export async function registerWorker(executor: Executor, worker: Registration): Promise<boolean> {
  const { rows } = await executor.query<{ registered: boolean }>(
    "SELECT tallyman.scheduler_register_worker($1, $2, $3, $4, $5) AS registered",
    [worker.workerId, worker.bootId, worker.cap === undefined, worker.cap ?? null, worker.heartbeatTimeoutMs],
  );
  return rows[0]?.registered === true;
}

/** A worker's state and what it holds, in the order of segment ids. */
export interface HeartbeatRow {
  readonly status: WorkerStatus;
  readonly assigned: SegmentGrant[];
  readonly revoking: SegmentGrant[];
}

/** Says that a worker is alive; undefined when it is not known, or known as another process. */
export async function heartbeatWorker(
  executor: Executor,
  workerId: string,
  bootId: string | null,
): Promise<HeartbeatRow | undefined> {
  const { rows } = await executor.query<HeartbeatRow>(
    `WITH beat AS (
       UPDATE tallyman.scheduler_worker w
       SET last_heartbeat_time = clock_timestamp(), status = CASE WHEN w.is_draining THEN 'DRAINING' ELSE 'ONLINE' END
       WHERE w.worker_id = $1 AND w.boot_id IS NOT DISTINCT FROM $2::uuid RETURNING w.status
     )
     SELECT beat.status, ${grantsWhere("ASSIGNED")} AS assigned, ${grantsWhere("REVOKING")} AS revoking FROM beat`,
    [workerId, bootId],
  );
  return rows[0];
}

function grantsWhere(status: "ASSIGNED" | "REVOKING"): string {
  return `(SELECT coalesce(json_agg(json_build_object('segmentId', s.segment_id, 'epoch', s.epoch) ORDER BY s.segment_id), '[]')
           FROM tallyman.scheduler_segment s WHERE s.worker_id = $1 AND s.status = '${status}')`;
}

/** Gives segments back, each only if the worker still holds it under this epoch; returns those given back. */
export async function releaseSegments(
  executor: Executor,
  workerId: string,
  grants: readonly SegmentGrant[],
): Promise<number[]> {
  const { rows } = await executor.query<{ segmentId: number }>(
    `WITH held AS MATERIALIZED (
       SELECT s.segment_id FROM tallyman.scheduler_segment s
       JOIN unnest($2::int[], $3::bigint[]) AS g (segment_id, epoch) ON g.segment_id = s.segment_id AND g.epoch = s.epoch
       WHERE s.worker_id = $1 ORDER BY s.segment_id FOR NO KEY UPDATE OF s
     )
     UPDATE tallyman.scheduler_segment s
     SET status = 'AVAILABLE', worker_id = NULL, assigned_at = NULL, revoke_deadline = NULL, epoch = s.epoch + 1
     FROM held WHERE s.segment_id = held.segment_id RETURNING s.segment_id AS "segmentId"`,
    [workerId, grants.map(({ segmentId }) => segmentId), grants.map(({ epoch }) => epoch)],
  );
  return rows.map(({ segmentId }) => segmentId).sort((a, b) => a - b);
}

/** Which worker gives up everything, and how. */
export interface ReleaseAll {
  readonly workerId: string;
  /** Null: whichever process runs it. */
  readonly bootId: string | null;
  /** Whether the worker is OFFLINE from now on. */
  readonly leaves: boolean;
}

/** Takes all segments and the cap from a worker; undefined when it is not known, or known as another process. */
export async function releaseAllSegments(
  executor: Executor,
  { workerId, bootId, leaves }: ReleaseAll,
): Promise<number[] | undefined> {
  const { rows } = await executor.query<{ freed: number[] | null }>(
    "SELECT tallyman.scheduler_release_all($1, $2, $3) AS freed",
    [workerId, bootId, leaves],
  );
  return rows[0]?.freed ?? undefined;
}

/** Marks a worker as draining; false when there is none that could drain. */
export async function drainWorker(executor: Executor, workerId: string): Promise<boolean> {
  const { rowCount } = await executor.query(
    `UPDATE tallyman.scheduler_worker w
     SET is_draining = true, status = CASE WHEN w.status = 'ONLINE' THEN 'DRAINING' ELSE w.status END
     WHERE w.worker_id = $1`,
    [workerId],
  );
  return rowCount === 1;
}

/** All workers, or one, with the segments that each holds; those it is asked to give back included. */
export async function selectWorkers(executor: Executor, workerId?: string): Promise<WorkerInfo[]> {
  const { rows } = await executor.query<WorkerInfo>(
    `SELECT w.worker_id AS "workerId", w.status, w.cap, w.heartbeat_timeout_ms AS "heartbeatTimeoutMs",
            w.registered_at AS "registeredAt", w.last_heartbeat_time AS "lastHeartbeatTime",
            ARRAY(SELECT s.segment_id FROM tallyman.scheduler_segment s WHERE s.worker_id = w.worker_id
                  ORDER BY s.segment_id) AS "assignedSegments"
     FROM tallyman.scheduler_worker w WHERE $1::text IS NULL OR w.worker_id = $1 ORDER BY w.worker_id`,
    [workerId ?? null],
  );
  return rows;
}

/** Workers and segments, counted. */
export async function countFleet(executor: Executor): Promise<FleetCounts> {
  const { rows } = await executor.query<FleetCounts>(
    `SELECT count(*) FILTER (WHERE w.status = 'ONLINE')::integer AS "workersOnline",
            count(*) FILTER (WHERE w.status = 'UNHEALTHY')::integer AS "workersUnhealthy",
            (SELECT count(worker_id)::integer FROM tallyman.scheduler_segment) AS "segmentsOwned",
            (SELECT count(*)::integer FROM tallyman.scheduler_segment) AS "segmentCount"
     FROM tallyman.scheduler_worker w`,
  );
  return rows[0] as FleetCounts;
}
