import type { AssignRequest, Term } from "../../src/scheduler/coordinator-store.ts";
import type { FleetState, Move } from "../../src/scheduler/rebalance.ts";
import type { AssignOutcome, TakenBack } from "../../src/scheduler/sql/leader.ts";
import type { LeaseAttempt, LeaseLook } from "../../src/scheduler/sql/lease.ts";
import type { HeartbeatRow, Registration } from "../../src/scheduler/sql/worker.ts";
import type { SegmentGrant, SegmentStatus, WorkerStatus } from "../../src/scheduler/worker-info.ts";

interface ModelWorker {
  bootId: string | null;
  status: WorkerStatus;
  isDraining: boolean;
  cap: number | null;
  timeoutMs: number;
  heartbeatMs: number;
}

export interface ModelSegment {
  status: SegmentStatus;
  workerId: string | null;
  epoch: number;
  leaderEpoch: number;
  deadlineMs: number | null;
}

/** The checks that can be taken out, to see that the invariants notice. */
export interface Fences {
  /** A leader's write looks at (holder, epoch) of the lease. */
  readonly lease: boolean;
  /** A renewal matches holder and epoch. */
  readonly renewal: boolean;
  /** A heartbeat matches the boot id, and another process gets other epochs. */
  readonly boot: boolean;
  /** A release matches worker and epoch. */
  readonly release: boolean;
}

export const allFences: Fences = { lease: true, renewal: true, boot: true, release: true };

/**
 * The scheduler's tables and statements in memory, each statement as one step. That they are one step on
 * PostgreSQL too, whatever runs beside them, is what fences.integration.test.ts proves; that they do the same
 * is what scheduler-model.test.ts proves, on both.
 */
export class SchedulerModel {
  readonly lease: { epoch: number; holder: string | null; expiresMs: number } = {
    epoch: 0,
    holder: null,
    expiresMs: Number.NEGATIVE_INFINITY,
  };
  readonly workers: Map<string, ModelWorker> = new Map();
  readonly segments: ModelSegment[];
  readonly #now: () => number;
  readonly #fences: Fences;

  constructor(segmentCount: number, now: () => number, fences: Fences = allFences) {
    this.#now = now;
    this.#fences = fences;
    this.segments = Array.from({ length: segmentCount }, () => ({
      status: "AVAILABLE" as const,
      workerId: null,
      epoch: 0,
      leaderEpoch: 0,
      deadlineMs: null,
    }));
  }

  acquire({ holder, leaseMs }: LeaseAttempt): LeaseLook {
    const { lease } = this;
    if (lease.expiresMs <= this.#now()) {
      Object.assign(lease, { epoch: lease.epoch + 1, holder, expiresMs: this.#now() + leaseMs });
      return { epoch: lease.epoch, isMine: true, remainingMs: leaseMs };
    }
    return {
      epoch: lease.epoch,
      isMine: lease.holder === holder,
      remainingMs: lease.expiresMs - this.#now(),
    };
  }

  renew(term: Term, leaseMs: number): boolean {
    const isTheirs = !this.#fences.renewal || this.holds(term);
    if (!isTheirs || this.lease.expiresMs <= this.#now()) return false;
    this.lease.expiresMs = this.#now() + leaseMs;
    return true;
  }

  resign(term: Term): boolean {
    if (!this.holds(term)) return false;
    this.lease.expiresMs = Number.NEGATIVE_INFINITY;
    return true;
  }

  /** Whether a term is the latest; it may have run out. */
  holds({ holder, epoch }: Term): boolean {
    return this.lease.holder === holder && this.lease.epoch === epoch;
  }

  takeBack(term: Term): TakenBack | undefined {
    if (!this.#leads(term)) return undefined;
    let [unhealthy, offline, segments] = [0, 0, 0];
    for (const worker of this.workers.values()) {
      const periods = worker.status === "UNHEALTHY" ? 2 : 1;
      if (worker.status === "OFFLINE" || worker.heartbeatMs + worker.timeoutMs * periods >= this.#now())
        continue;
      if (worker.status === "UNHEALTHY") offline++;
      else unhealthy++;
      worker.status = worker.status === "UNHEALTHY" ? "OFFLINE" : "UNHEALTHY";
    }
    for (const segment of this.segments) {
      const owner = this.workers.get(segment.workerId ?? "");
      const isSilent = owner?.status === "UNHEALTHY" || owner?.status === "OFFLINE";
      if (!isSilent && (segment.deadlineMs ?? Number.POSITIVE_INFINITY) >= this.#now()) continue;
      this.#free(segment);
      segment.leaderEpoch = term.epoch;
      segments++;
    }
    return { unhealthy, offline, segments };
  }

  fleetState(): FleetState {
    const workers = [...this.workers]
      .filter(([, { status }]) => status === "ONLINE" || status === "DRAINING")
      .map(([workerId, { status, cap }]) => ({ workerId, status: status as "ONLINE" | "DRAINING", cap }))
      .sort((a, b) => (a.workerId < b.workerId ? -1 : 1));
    const segments = this.segments.map(({ status, workerId, epoch }, segmentId) => ({
      segmentId,
      status,
      workerId,
      epoch,
    }));
    return { workers, segments };
  }

  assign(term: Term, moves: readonly Move[]): number | undefined {
    if (!this.#leads(term)) return undefined;
    let count = 0;
    for (const { segmentId, epoch, workerId } of moves) {
      const segment = this.segments[segmentId];
      if (segment?.status !== "AVAILABLE" || segment.epoch !== epoch) continue;
      if (this.workers.get(workerId)?.status !== "ONLINE") continue;
      this.#give(segment, workerId, term);
      count++;
    }
    return count;
  }

  revoke(term: Term, moves: readonly Move[], revokeMs: number): number | undefined {
    if (!this.#leads(term)) return undefined;
    let count = 0;
    for (const { segmentId, epoch, workerId } of moves) {
      const segment = this.segments[segmentId];
      if (segment?.status !== "ASSIGNED" || segment.epoch !== epoch || segment.workerId !== workerId)
        continue;
      this.#revoke(segment, term, revokeMs);
      count++;
    }
    return count;
  }

  assignDesired(term: Term, { workerId, desiredSegments, revokeMs }: AssignRequest): AssignOutcome {
    if (!this.#leads(term)) return "NOT_LEADER";
    const worker = this.workers.get(workerId);
    if (!worker) return "UNKNOWN_WORKER";
    if (worker.status !== "ONLINE") return worker.status;
    if (worker.cap === desiredSegments) return "UNCHANGED";
    worker.cap = desiredSegments;
    const held = this.segments.filter((segment) => segment.workerId === workerId).length;
    const free = this.segments.filter(({ status }) => status === "AVAILABLE");
    for (const segment of free.slice(0, Math.max(0, desiredSegments - held)))
      this.#give(segment, workerId, term);
    const assigned = this.segments.filter((s) => s.workerId === workerId && s.status === "ASSIGNED");
    for (const segment of assigned.slice(desiredSegments)) this.#revoke(segment, term, revokeMs);
    return "CHANGED";
  }

  register({ workerId, bootId, cap, heartbeatTimeoutMs }: Registration): boolean {
    const known = this.workers.get(workerId);
    if (known && bootId === null && known.bootId !== null && known.status !== "OFFLINE") return false;
    const keptCap = cap === undefined ? (known ? known.cap : 0) : cap;
    const [timeoutMs, heartbeatMs] = [heartbeatTimeoutMs, this.#now()];
    const status = "ONLINE";
    this.workers.set(workerId, { bootId, status, isDraining: false, cap: keptCap, timeoutMs, heartbeatMs });
    if (!known || known.bootId === bootId || !this.#fences.boot) return true;
    for (const segment of this.segments.filter((s) => s.workerId === workerId)) {
      if (segment.status === "REVOKING") this.#free(segment);
      else segment.epoch++;
    }
    return true;
  }

  heartbeat(workerId: string, bootId: string | null): HeartbeatRow | undefined {
    const worker = this.workers.get(workerId);
    if (!worker || (this.#fences.boot && worker.bootId !== bootId)) return undefined;
    worker.heartbeatMs = this.#now();
    worker.status = worker.isDraining ? "DRAINING" : "ONLINE";
    return {
      status: worker.status,
      assigned: this.#grants(workerId, "ASSIGNED"),
      revoking: this.#grants(workerId, "REVOKING"),
    };
  }

  release(workerId: string, grants: readonly SegmentGrant[]): number[] {
    const released = grants.filter(({ segmentId, epoch }) =>
      this.#fences.release
        ? this.passes(workerId, { segmentId, epoch })
        : this.segments[segmentId]?.workerId !== null,
    );
    for (const { segmentId } of released) this.#free(this.segments[segmentId]);
    return released.map(({ segmentId }) => segmentId).sort((a, b) => a - b);
  }

  releaseAll(workerId: string, bootId: string | null, leaves: boolean): number[] | undefined {
    const worker = this.workers.get(workerId);
    if (!worker || (bootId !== null && worker.bootId !== bootId)) return undefined;
    worker.cap = 0;
    if (leaves) Object.assign(worker, { status: "OFFLINE", isDraining: false, bootId: null });
    const owned = this.#idsOf(workerId);
    for (const id of owned) this.#free(this.segments[id]);
    return owned;
  }

  drain(workerId: string): boolean {
    const worker = this.workers.get(workerId);
    if (!worker) return false;
    worker.isDraining = true;
    if (worker.status === "ONLINE") worker.status = "DRAINING";
    return true;
  }

  /** The fence of whoever works on a segment. */
  passes(workerId: string, { segmentId, epoch }: SegmentGrant): boolean {
    const segment = this.segments[segmentId];
    return segment?.workerId === workerId && segment.epoch === epoch;
  }

  #leads(term: Term): boolean {
    return !this.#fences.lease || this.holds(term);
  }

  #idsOf(workerId: string): number[] {
    return this.segments.flatMap((segment, id) => (segment.workerId === workerId ? id : []));
  }

  #grants(workerId: string, status: SegmentStatus): SegmentGrant[] {
    return this.#idsOf(workerId).flatMap((segmentId) => {
      const segment = this.segments[segmentId];
      return segment?.status === status ? { segmentId, epoch: segment.epoch } : [];
    });
  }

  #give(segment: ModelSegment, workerId: string, { epoch }: Term): void {
    Object.assign(segment, { status: "ASSIGNED", workerId, epoch: segment.epoch + 1, leaderEpoch: epoch });
  }

  #revoke(segment: ModelSegment, { epoch }: Term, revokeMs: number): void {
    Object.assign(segment, { status: "REVOKING", deadlineMs: this.#now() + revokeMs, leaderEpoch: epoch });
  }

  #free(segment: ModelSegment | undefined): void {
    if (!segment) return;
    Object.assign(segment, {
      status: "AVAILABLE",
      workerId: null,
      epoch: segment.epoch + 1,
      deadlineMs: null,
    });
  }
}
