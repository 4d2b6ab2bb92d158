import { type Clock, logger } from "../runtime/index.ts";
import type { AssignRequest, CoordinatorStore, Term } from "./coordinator-store.ts";
import type { Election } from "./election.ts";
import { type FleetState, type Move, type Moves, rebalance } from "./rebalance.ts";
import type { AssignOutcome } from "./sql/leader.ts";

const log = logger("scheduler.leader");

/** A stream of joins delays a rebalance no longer than this many times the delay of one. */
const joinDelaysMax = 5;
const forgetAfterMs = 24 * 3_600_000;
const forgetEveryMs = 3_600_000;

/** How a leader acts. */
export interface LeaderOptions {
  /** Time that a worker has to give a segment back. */
  readonly revokeMs: number;
  /** Nothing is taken from others for a worker that joined less than this ago: more may be about to join. */
  readonly joinDelayMs: number;
  readonly clock: Clock;
}

/** What one round changed. */
export interface LeaderRound {
  readonly assigned: number;
  readonly revoked: number;
  readonly takenBack: number;
  /** Time until a rebalance that was put off should be made; Infinity when there is none. */
  readonly dueInMs: number;
}

const nothing: LeaderRound = { assigned: 0, revoked: 0, takenBack: 0, dueInMs: Number.POSITIVE_INFINITY };

/** A write found that the term is over. */
class TermOver extends Error {}

/**
 * What only the leader does: taking segments from silent workers, rebalancing, answering requests for
 * segments. One thing at a time; each statement names the term, and the first that is refused ends it.
 */
export class Leader {
  readonly #store: CoordinatorStore;
  readonly #election: Election;
  readonly #options: LeaderOptions;
  #last: Promise<unknown> = Promise.resolve();
  #known = new Set<string>();
  #joins: { readonly firstMs: number; readonly latestMs: number } | undefined;
  #forgotMs: number | undefined;

  constructor(store: CoordinatorStore, election: Election, options: LeaderOptions) {
    this.#store = store;
    this.#election = election;
    this.#options = options;
  }

  /** One round of health scan, rebalance and maintenance; does nothing unless this process leads. */
  runOnce(): Promise<LeaderRound> {
    return this.#alone(async () => {
      try {
        return await this.#round();
      } catch (error) {
        if (error instanceof TermOver) return nothing;
        throw error;
      }
    });
  }

  /** Answers a worker that asks for segments. */
  assign(workerId: string, desiredSegments: number): Promise<AssignOutcome> {
    const { revokeMs } = this.#options;
    const request: AssignRequest = { workerId, desiredSegments, revokeMs };
    return this.#alone(async () => {
      const { term } = this.#election;
      const outcome = term ? await this.#store.assignDesired(term, request) : "NOT_LEADER";
      if (term && outcome === "NOT_LEADER") this.#election.stepDown(term, "a write was refused");
      return outcome;
    });
  }

  async #round(): Promise<LeaderRound> {
    if (!this.#election.term) return nothing;
    const taken = await this.#asLeader((term) => this.#store.takeBack(term));
    if (taken.unhealthy + taken.offline > 0) log.debug("Workers are silent", { ...taken });
    const state = await this.#store.fleetState();
    const { moves, dueInMs } = this.#moves(state);
    const { assign, revoke } = moves;
    const { revokeMs } = this.#options;
    const assigned = assign.length > 0 ? await this.#asLeader((term) => this.#store.assign(term, assign)) : 0;
    const revoked =
      revoke.length > 0 ? await this.#asLeader((term) => this.#store.revoke(term, revoke, revokeMs)) : 0;
    await this.#forget();
    return { assigned, revoked, takenBack: taken.segments, dueInMs };
  }

  /** The rebalance, less what waits for more workers to join. */
  #moves(state: FleetState): { moves: Moves; dueInMs: number } {
    const moves = rebalance(state);
    const dueInMs = this.#joinDelay(state);
    if (dueInMs === 0) return { moves, dueInMs: Number.POSITIVE_INFINITY };
    const draining = new Set(state.workers.filter((w) => w.status === "DRAINING").map((w) => w.workerId));
    const isColdStart = state.segments.every(({ status }) => status === "AVAILABLE");
    const revoke = moves.revoke.filter((move: Move) => draining.has(move.workerId));
    return { moves: { assign: isColdStart ? [] : moves.assign, revoke }, dueInMs };
  }

  /** How long to wait for further joins; 0 when nobody joined lately. */
  #joinDelay({ workers }: FleetState): number {
    const { clock, joinDelayMs } = this.#options;
    const nowMs = clock.monotonicMs();
    const present = new Set(workers.map(({ workerId }) => workerId));
    const joined = [...present].some((workerId) => !this.#known.has(workerId));
    this.#known = present;
    if (joined) this.#joins = { firstMs: this.#joins?.firstMs ?? nowMs, latestMs: nowMs };
    if (!this.#joins) return 0;
    const { firstMs, latestMs } = this.#joins;
    const dueMs = Math.min(latestMs + joinDelayMs, firstMs + joinDelaysMax * joinDelayMs);
    if (nowMs >= dueMs) this.#joins = undefined;
    return Math.max(0, dueMs - nowMs);
  }

  async #forget(): Promise<void> {
    const nowMs = this.#options.clock.monotonicMs();
    if (this.#forgotMs !== undefined && nowMs - this.#forgotMs < forgetEveryMs) return;
    await this.#asLeader((term) => this.#store.deleteForgotten(term, forgetAfterMs));
    this.#forgotMs = nowMs;
  }

  /** Runs one statement of a leader; a refusal ends the term and the round. */
  async #asLeader<T>(write: (term: Term) => Promise<T | undefined>): Promise<T> {
    const { term } = this.#election;
    const result = term && (await write(term));
    if (result !== undefined) return result;
    if (term) this.#election.stepDown(term, "a write was refused");
    throw new TermOver();
  }

  #alone<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }
}
