import type { Database } from "../database/index.ts";
import type { FleetState, Move } from "./rebalance.ts";
import {
  type AssignOutcome,
  assignDesired,
  assignSegments,
  deleteForgotten,
  revokeSegments,
  selectFleetState,
  type TakenBack,
  takeBack,
} from "./sql/leader.ts";
import { acquireLease, type LeaseAttempt, type LeaseLook, renewLease, resignLease } from "./sql/lease.ts";

/** One term of a leader: the process and the epoch it was elected with. Every leader's write names both. */
export interface Term {
  readonly holder: string;
  readonly epoch: number;
}

/**
 * What election and leader ask of the database: each call is one statement, and all that the simulation has
 * to stand in for. Writes of a leader answer undefined when the term is over; nothing was changed then.
 */
export interface CoordinatorStore {
  acquire(attempt: LeaseAttempt): Promise<LeaseLook>;
  renew(term: Term, leaseMs: number): Promise<boolean>;
  resign(term: Term): Promise<boolean>;
  /** Takes segments from workers that are late, and those that were not given back in time. */
  takeBack(term: Term): Promise<TakenBack | undefined>;
  fleetState(): Promise<FleetState>;
  assign(term: Term, moves: readonly Move[]): Promise<number | undefined>;
  revoke(term: Term, moves: readonly Move[], revokeMs: number): Promise<number | undefined>;
  assignDesired(term: Term, request: AssignRequest): Promise<AssignOutcome>;
  /** Deletes workers and coordinators that were not heard of for long; returns how many. */
  deleteForgotten(term: Term, olderThanMs: number): Promise<number | undefined>;
}

/** A worker that asks for segments. */
export interface AssignRequest {
  readonly workerId: string;
  readonly desiredSegments: number;
  /** Time to give back what is too much. */
  readonly revokeMs: number;
}

/** The store in PostgreSQL. */
export function coordinatorStore(database: Database): CoordinatorStore {
  return {
    acquire: (attempt) => acquireLease(database, attempt),
    renew: (term, leaseMs) => renewLease(database, term, leaseMs),
    resign: (term) => resignLease(database, term),
    takeBack: (term) => takeBack(database, term),
    fleetState: () => selectFleetState(database),
    assign: (term, moves) => assignSegments(database, term, moves),
    revoke: (term, moves, revokeMs) => revokeSegments(database, term, { moves, revokeMs }),
    assignDesired: (term, request) => assignDesired(database, term, request),
    deleteForgotten: (term, olderThanMs) => deleteForgotten(database, term, olderThanMs),
  };
}
