import type { Executor } from "../../database/index.ts";
import type { AssignRequest, Term } from "../coordinator-store.ts";
import type { FleetState, Move } from "../rebalance.ts";

/**
 * The fence of every leader's write, as its first part: the lease's row, locked FOR SHARE on ($1 holder,
 * $2 epoch). A candidate that wins at the same moment waits for us or we for it, and then the epoch no longer
 * matches. A plain join does not do: it reads the row as it was when the statement began. Nor does FOR KEY
 * SHARE, which an election does not conflict with.
 */
const leads = `l AS MATERIALIZED (
    SELECT FROM tallyman.scheduler_leader_lease
    WHERE name = 'coordinator' AND holder = $1 AND epoch = $2 FOR SHARE
  )`;

const whetherLeads = "EXISTS (SELECT FROM l) AS leads";

/** What was taken from whom. */
export interface TakenBack {
  /** Workers that are UNHEALTHY since. */
  readonly unhealthy: number;
  /** Workers that are OFFLINE since. */
  readonly offline: number;
  /** Segments that became available. */
  readonly segments: number;
}

/**
 * The health scan. A worker that was silent for its timeout is UNHEALTHY and loses its segments; after another
 * timeout it is OFFLINE. Segments that were revoked and not given back in time are taken. What somebody else
 * holds locked is left for the next scan: a worker that stalls inside a transaction must not stall the leader.
 */
export async function takeBack(executor: Executor, term: Term): Promise<TakenBack | undefined> {
  const { rows } = await executor.query<TakenBack & { leads: boolean }>(
    `WITH ${leads},
     late AS MATERIALIZED (
       SELECT w.worker_id, w.status FROM tallyman.scheduler_worker w, l
       WHERE w.status <> 'OFFLINE' AND w.last_heartbeat_time + w.heartbeat_timeout_ms
         * (CASE WHEN w.status = 'UNHEALTHY' THEN 2 ELSE 1 END) * interval '1 millisecond' < clock_timestamp()
       ORDER BY w.worker_id FOR NO KEY UPDATE OF w SKIP LOCKED
     ),
     marked AS (
       UPDATE tallyman.scheduler_worker w
       SET status = CASE WHEN late.status = 'UNHEALTHY' THEN 'OFFLINE' ELSE 'UNHEALTHY' END
       FROM late WHERE w.worker_id = late.worker_id RETURNING w.worker_id, w.status
     ),
     due AS MATERIALIZED (
       SELECT s.segment_id FROM tallyman.scheduler_segment s, l
       WHERE s.worker_id IN (SELECT late.worker_id FROM late)
          OR s.worker_id IN (SELECT w.worker_id FROM tallyman.scheduler_worker w WHERE w.status IN ('UNHEALTHY', 'OFFLINE'))
          OR s.revoke_deadline < clock_timestamp()
       ORDER BY s.segment_id FOR NO KEY UPDATE OF s SKIP LOCKED
     ),
     taken AS (
       UPDATE tallyman.scheduler_segment s
       SET status = 'AVAILABLE', worker_id = NULL, assigned_at = NULL, revoke_deadline = NULL, epoch = s.epoch + 1,
           leader_epoch = $2
       FROM due WHERE s.segment_id = due.segment_id RETURNING s.segment_id
     )
     SELECT ${whetherLeads}, (SELECT count(*) FROM marked WHERE status = 'UNHEALTHY') AS unhealthy,
            (SELECT count(*) FROM marked WHERE status = 'OFFLINE') AS offline, (SELECT count(*) FROM taken) AS segments`,
    [term.holder, term.epoch],
  );
  const [{ leads: isLeader, ...taken } = { leads: false, unhealthy: 0, offline: 0, segments: 0 }] = rows;
  return isLeader ? taken : undefined;
}

/** Workers that may hold segments, and every segment: what a rebalance is computed from. */
export async function selectFleetState(executor: Executor): Promise<FleetState> {
  const { rows } = await executor.query<FleetState>(
    `SELECT (SELECT coalesce(json_agg(json_build_object('workerId', w.worker_id, 'status', w.status, 'cap', w.cap)
                                      ORDER BY w.worker_id), '[]')
             FROM tallyman.scheduler_worker w WHERE w.status IN ('ONLINE', 'DRAINING')) AS workers,
            (SELECT coalesce(json_agg(json_build_object('segmentId', s.segment_id, 'status', s.status,
                                        'workerId', s.worker_id, 'epoch', s.epoch) ORDER BY s.segment_id), '[]')
             FROM tallyman.scheduler_segment s) AS segments`,
  );
  return rows[0] ?? { workers: [], segments: [] };
}

/** Gives available segments to workers that are ONLINE; one whose epoch has moved on is left alone. */
export async function assignSegments(
  executor: Executor,
  term: Term,
  moves: readonly Move[],
): Promise<number | undefined> {
  const { rows } = await executor.query<{ leads: boolean; changed: number }>(
    `WITH ${leads},
     online AS MATERIALIZED (
       SELECT w.worker_id FROM tallyman.scheduler_worker w, l
       WHERE w.worker_id = ANY ($5::text[]) AND w.status = 'ONLINE' ORDER BY w.worker_id FOR SHARE OF w
     ),
     free AS MATERIALIZED (
       SELECT s.segment_id, online.worker_id FROM tallyman.scheduler_segment s
       JOIN unnest($3::int[], $4::bigint[], $5::text[]) AS m (segment_id, epoch, worker_id)
         ON m.segment_id = s.segment_id AND m.epoch = s.epoch
       JOIN online ON online.worker_id = m.worker_id
       WHERE s.status = 'AVAILABLE' ORDER BY s.segment_id FOR NO KEY UPDATE OF s
     ),
     given AS (
       UPDATE tallyman.scheduler_segment s
       SET status = 'ASSIGNED', worker_id = free.worker_id, assigned_at = clock_timestamp(), epoch = s.epoch + 1,
           leader_epoch = $2
       FROM free WHERE s.segment_id = free.segment_id RETURNING s.segment_id
     )
     SELECT ${whetherLeads}, (SELECT count(*) FROM given) AS changed`,
    [term.holder, term.epoch, ...columnsOf(moves)],
  );
  return changedIfLeading(rows);
}

/** Asks workers to give segments back until a deadline; they keep their epochs until then. */
export async function revokeSegments(
  executor: Executor,
  term: Term,
  { moves, revokeMs }: { readonly moves: readonly Move[]; readonly revokeMs: number },
): Promise<number | undefined> {
  const { rows } = await executor.query<{ leads: boolean; changed: number }>(
    `WITH ${leads},
     held AS MATERIALIZED (
       SELECT s.segment_id FROM l, tallyman.scheduler_segment s
       JOIN unnest($3::int[], $4::bigint[], $5::text[]) AS m (segment_id, epoch, worker_id)
         ON m.segment_id = s.segment_id AND m.epoch = s.epoch AND m.worker_id = s.worker_id
       WHERE s.status = 'ASSIGNED' ORDER BY s.segment_id FOR NO KEY UPDATE OF s SKIP LOCKED
     ),
     asked AS (
       UPDATE tallyman.scheduler_segment s
       SET status = 'REVOKING', revoke_deadline = clock_timestamp() + $6 * interval '1 millisecond', leader_epoch = $2
       FROM held WHERE s.segment_id = held.segment_id RETURNING s.segment_id
     )
     SELECT ${whetherLeads}, (SELECT count(*) FROM asked) AS changed`,
    [term.holder, term.epoch, ...columnsOf(moves), revokeMs],
  );
  return changedIfLeading(rows);
}

/** How a worker's request ended; a status when the worker is not ONLINE. */
export type AssignOutcome =
  | "CHANGED"
  | "UNCHANGED"
  | "NOT_LEADER"
  | "UNKNOWN_WORKER"
  | "DRAINING"
  | "UNHEALTHY"
  | "OFFLINE";

/** Sets a worker's cap, gives it the lowest available segments, or revokes what is too much. */
export async function assignDesired(
  executor: Executor,
  term: Term,
  request: AssignRequest,
): Promise<AssignOutcome> {
  const { rows } = await executor.query<{ outcome: AssignOutcome }>(
    "SELECT tallyman.scheduler_assign($1, $2, $3, $4, $5) AS outcome",
    [term.holder, term.epoch, request.workerId, request.desiredSegments, request.revokeMs],
  );
  return rows[0]?.outcome ?? "NOT_LEADER";
}

/** Forgets workers that are OFFLINE and coordinators that are silent, both for long. */
export async function deleteForgotten(
  executor: Executor,
  term: Term,
  olderThanMs: number,
): Promise<number | undefined> {
  const { rows } = await executor.query<{ leads: boolean; changed: number }>(
    `WITH ${leads},
     workers AS (
       DELETE FROM tallyman.scheduler_worker w USING l
       WHERE w.status = 'OFFLINE' AND w.last_heartbeat_time < clock_timestamp() - $3 * interval '1 millisecond'
         AND NOT EXISTS (SELECT FROM tallyman.scheduler_segment s WHERE s.worker_id = w.worker_id) RETURNING 1
     ),
     coordinators AS (
       DELETE FROM tallyman.scheduler_coordinator c USING l
       WHERE c.last_heartbeat_time < clock_timestamp() - $3 * interval '1 millisecond' RETURNING 1
     )
     SELECT ${whetherLeads}, (SELECT count(*) FROM workers) + (SELECT count(*) FROM coordinators) AS changed`,
    [term.holder, term.epoch, olderThanMs],
  );
  return changedIfLeading(rows);
}

function changedIfLeading(
  rows: readonly { readonly leads: boolean; readonly changed: number }[],
): number | undefined {
  return rows[0]?.leads ? rows[0].changed : undefined;
}

function columnsOf(moves: readonly Move[]): [number[], number[], string[]] {
  return [
    moves.map(({ segmentId }) => segmentId),
    moves.map(({ epoch }) => epoch),
    moves.map(({ workerId }) => workerId),
  ];
}
