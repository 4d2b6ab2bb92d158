import type { Executor } from "../../database/index.ts";
import type { Term } from "../coordinator-store.ts";

/** A bid for leadership, with the address under which the winner can be reached. */
export interface LeaseAttempt {
  /** Boot id of the process. */
  readonly holder: string;
  readonly coordinatorId: string;
  readonly host: string;
  readonly port: number;
  readonly leaseMs: number;
}

/** What a bid found: whose the lease is now, and for how long. */
export interface LeaseLook {
  readonly epoch: number;
  /** Whether the bidder holds the lease: it won now, or won before without hearing of it. */
  readonly isMine: boolean;
  /** Time until the lease runs out, by the database's clock; not below 0. */
  readonly remainingMs: number;
}

/** Takes the lease when it has run out; else tells who has it. Only the database's clock decides. */
export async function acquireLease(executor: Executor, attempt: LeaseAttempt): Promise<LeaseLook> {
  const { rows } = await executor.query<LeaseLook>(
    `WITH won AS (
       UPDATE tallyman.scheduler_leader_lease
       SET epoch = epoch + 1, holder = $1, coordinator_id = $2, host = $3, port = $4, elected_at = clock_timestamp(),
           expires_at = clock_timestamp() + $5 * interval '1 millisecond'
       WHERE name = 'coordinator' AND expires_at <= clock_timestamp() RETURNING epoch
     )
     SELECT epoch, true AS "isMine", $5::float8 AS "remainingMs" FROM won
     UNION ALL
     SELECT l.epoch, coalesce(l.holder = $1 AND l.expires_at > clock_timestamp(), false),
            CASE WHEN l.expires_at > clock_timestamp()
                 THEN 1000 * extract(epoch FROM l.expires_at - clock_timestamp())::float8 ELSE 0 END
     FROM tallyman.scheduler_leader_lease l WHERE l.name = 'coordinator' AND NOT EXISTS (SELECT FROM won)`,
    [attempt.holder, attempt.coordinatorId, attempt.host, attempt.port, attempt.leaseMs],
  );
  return rows[0] ?? { epoch: 0, isMine: false, remainingMs: 0 };
}

/** Prolongs a term that is not over; false: step down. Matched by process and epoch, never by name. */
export async function renewLease(executor: Executor, term: Term, leaseMs: number): Promise<boolean> {
  const { rowCount } = await executor.query(
    `UPDATE tallyman.scheduler_leader_lease SET expires_at = clock_timestamp() + $3 * interval '1 millisecond'
     WHERE name = 'coordinator' AND holder = $1 AND epoch = $2 AND expires_at > clock_timestamp()`,
    [term.holder, term.epoch, leaseMs],
  );
  return rowCount === 1;
}

/** Ends a term, so that others need not wait for its lease to run out. */
export async function resignLease(executor: Executor, term: Term): Promise<boolean> {
  const { rowCount } = await executor.query(
    `UPDATE tallyman.scheduler_leader_lease SET expires_at = '-infinity'
     WHERE name = 'coordinator' AND holder = $1 AND epoch = $2`,
    [term.holder, term.epoch],
  );
  return rowCount === 1;
}

/** Who leads, and where it can be reached. */
export interface LeaderInfo {
  readonly coordinatorId: string;
  readonly epoch: number;
  readonly host: string;
  readonly port: number;
  readonly electedAt: Date;
}

/** The present leader; undefined when the lease has run out. */
export async function selectLeader(executor: Executor): Promise<LeaderInfo | undefined> {
  const { rows } = await executor.query<LeaderInfo>(
    `SELECT coordinator_id AS "coordinatorId", epoch, host, port, elected_at AS "electedAt"
     FROM tallyman.scheduler_leader_lease WHERE name = 'coordinator' AND expires_at > clock_timestamp()`,
  );
  return rows[0];
}
