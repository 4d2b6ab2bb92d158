import type { SegmentStatus } from "./worker-info.ts";

/** A worker as the rebalance sees it. A draining one keeps nothing. */
export interface WorkerState {
  readonly workerId: string;
  readonly status: "ONLINE" | "DRAINING";
  /** Segments at most; null: no limit. */
  readonly cap: number | null;
}

/** A segment as the rebalance sees it. */
export interface SegmentState {
  readonly segmentId: number;
  readonly status: SegmentStatus;
  readonly workerId: string | null;
  readonly epoch: number;
}

/** Everything that a rebalance is computed from. */
export interface FleetState {
  readonly workers: readonly WorkerState[];
  readonly segments: readonly SegmentState[];
}

/** A segment, the epoch at which it was seen, and the worker that gets it or gives it back. */
export interface Move {
  readonly segmentId: number;
  readonly epoch: number;
  readonly workerId: string;
}

/** What to do now; what is revoked is assigned in a later round, when it was given back. */
export interface Moves {
  readonly assign: readonly Move[];
  readonly revoke: readonly Move[];
}

interface Share {
  readonly workerId: string;
  readonly cap: number;
  /** In the order of ids; without those that it is asked to give back. */
  readonly held: readonly SegmentState[];
  readonly revoking: number;
}

/**
 * Which segments go where. Pure.
 *
 * Quotas fill up like water under the workers' caps: all below their cap get the same, give or take one, and
 * the odd ones out are those that hold more already. A worker above its quota gives back its highest
 * segments, one below gets the lowest available ones. So as few segments move as a fair distribution allows,
 * and a second call finds nothing to do.
 *
 * @example
 * ```ts
 * const { assign, revoke } = rebalance({ workers, segments });
 * ```
 */
export function rebalance({ workers, segments }: FleetState): Moves {
  const shares = workers.map((worker) => shareOf(worker, segments));
  const quotas = quotasOf(shares, segments.length);
  const overfull = shares.flatMap((share) => share.held.slice(quotas.get(share.workerId) ?? 0));
  const available = segments.filter(({ status }) => status === "AVAILABLE");
  return {
    assign: fillUp(shares, quotas, available),
    revoke: overfull.flatMap(({ segmentId, epoch, workerId }) =>
      workerId === null ? [] : { segmentId, epoch, workerId },
    ),
  };
}

function shareOf({ workerId, status, cap }: WorkerState, segments: readonly SegmentState[]): Share {
  const own = segments.filter((segment) => segment.workerId === workerId);
  const held = own.filter((segment) => segment.status === "ASSIGNED").toSorted(byId);
  const limit = status === "DRAINING" ? 0 : (cap ?? segments.length);
  return { workerId, cap: limit, held, revoking: own.length - held.length };
}

/** How many segments each worker should hold in the end. */
function quotasOf(shares: readonly Share[], segmentCount: number): ReadonlyMap<string, number> {
  const { level, left } = waterLevel(
    shares.map(({ cap }) => cap),
    segmentCount,
  );
  const withRoom = shares.filter(({ cap }) => cap > level);
  const lucky = new Set(withRoom.toSorted(moreHeldFirst).slice(0, left));
  return new Map(
    shares.map((share) => [share.workerId, Math.min(share.cap, level) + (lucky.has(share) ? 1 : 0)]),
  );
}

/** The highest level that every worker can be filled to, up to its cap, and how many segments are left then. */
function waterLevel(caps: readonly number[], segmentCount: number): { level: number; left: number } {
  let [level, left] = [0, segmentCount];
  for (;;) {
    const room = caps.filter((cap) => cap > level);
    if (room.length === 0 || room.length > left) return { level, left };
    const step = Math.min(Math.floor(left / room.length), Math.min(...room) - level);
    level += step;
    left -= step * room.length;
  }
}

function byId(a: SegmentState, b: SegmentState): number {
  return a.segmentId - b.segmentId;
}

function moreHeldFirst(a: Share, b: Share): number {
  return b.held.length - a.held.length || (a.workerId < b.workerId ? -1 : 1);
}

/** Hands out what is available, one by one to whoever lacks most. What is still to be given back counts as held. */
function fillUp(
  shares: readonly Share[],
  quotas: ReadonlyMap<string, number>,
  available: readonly SegmentState[],
): Move[] {
  const lacking = shares.map(({ workerId, held, revoking }) => ({
    workerId,
    lacks: (quotas.get(workerId) ?? 0) - held.length - revoking,
  }));
  const moves: Move[] = [];
  for (const { segmentId, epoch } of available.toSorted(byId)) {
    const neediest = lacking.reduce((most, next) => (next.lacks > most.lacks ? next : most), {
      workerId: "",
      lacks: 0,
    });
    if (neediest.lacks <= 0) break;
    neediest.lacks--;
    moves.push({ segmentId, epoch, workerId: neediest.workerId });
  }
  return moves;
}
