import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type FleetState, type Moves, rebalance, type SegmentState, type WorkerState } from "./rebalance.ts";

const numRuns = Number(process.env.RUNS ?? 300);

function worker(workerId: string, cap: number | null = null): WorkerState {
  return { workerId, status: "ONLINE", cap };
}

function segments(owners: readonly (string | null)[]): SegmentState[] {
  return owners.map((workerId, segmentId) => ({
    segmentId,
    workerId,
    status: workerId === null ? "AVAILABLE" : "ASSIGNED",
    epoch: 1,
  }));
}

function counts({ workers, segments }: FleetState): number[] {
  return workers.map(
    ({ workerId }) => segments.filter((s) => s.workerId === workerId && s.status === "ASSIGNED").length,
  );
}

/** The state after the moves, and after every worker gave back what it was asked for. */
function carryOut(state: FleetState, { assign, revoke }: Moves): FleetState {
  const owner = new Map(assign.map((move) => [move.segmentId, move.workerId]));
  const given = new Set(revoke.map((move) => move.segmentId));
  const moved = state.segments.map((segment): SegmentState => {
    const workerId = owner.get(segment.segmentId);
    if (workerId !== undefined) return { ...segment, workerId, status: "ASSIGNED" };
    const isFree = given.has(segment.segmentId) || segment.status === "REVOKING";
    return isFree ? { ...segment, workerId: null, status: "AVAILABLE" } : segment;
  });
  return { ...state, segments: moved };
}

function settle(state: FleetState): { state: FleetState; revoked: number } {
  let revoked = 0;
  for (let round = 0; round < 5; round++) {
    const moves = rebalance(state);
    revoked += moves.revoke.length;
    state = carryOut(state, moves);
  }
  expect(rebalance(state)).toEqual({ assign: [], revoke: [] });
  return { state, revoked };
}

/**
 * The least number of segments that must be taken from workers, found without water or levels: among all
 * distributions that own as much as caps allow and in which nobody below its cap has two fewer than another,
 * the one that takes least.
 */
function leastTaken(held: readonly number[], caps: readonly number[], segmentCount: number): number {
  const owned = Math.min(
    segmentCount,
    caps.reduce((sum, cap) => sum + cap, 0),
  );
  let least = Number.POSITIVE_INFINITY;
  const isFair = (given: readonly number[]) =>
    given.every((mine, i) => mine === caps[i] || given.every((other) => other <= mine + 1));
  const distribute = (given: number[], left: number) => {
    if (given.length === caps.length) {
      if (left !== 0 || !isFair(given)) return;
      const taken = held.reduce((sum, count, i) => sum + Math.max(0, count - (given[i] ?? 0)), 0);
      least = Math.min(least, taken);
      return;
    }
    for (let next = 0; next <= Math.min(left, caps[given.length] ?? 0); next++)
      distribute([...given, next], left - next);
  };
  distribute([], owned);
  return least;
}

const cap = fc.option(fc.integer({ min: 0, max: 8 }), { nil: null });
const fleet = fc
  .tuple(fc.array(cap, { minLength: 1, maxLength: 4 }), fc.integer({ min: 1, max: 12 }))
  .chain(([caps, segmentCount]) =>
    fc.record({
      workers: fc.constant(caps.map((cap, i) => worker(`w${i}`, cap))),
      segments: fc
        .array(fc.option(fc.nat(caps.length - 1)), { minLength: segmentCount, maxLength: segmentCount })
        .map((owners) => segments(owners.map((owner) => (owner === null ? null : `w${owner}`)))),
    }),
  );

describe("rebalance", () => {
  it("settles fairly under any caps, owns all that caps allow, and moves as little as possible", () => {
    fc.assert(
      fc.property(fleet, (start) => {
        const caps = start.workers.map((w) =>
          Math.min(w.cap ?? Number.POSITIVE_INFINITY, start.segments.length),
        );
        const { state, revoked } = settle(start);
        const final = counts(state);
        const owned = final.reduce((sum, count) => sum + count, 0);
        expect(owned).toBe(
          Math.min(
            start.segments.length,
            caps.reduce((sum, cap) => sum + cap, 0),
          ),
        );
        const below = final.filter((count, i) => count < (caps[i] ?? 0));
        for (const mine of below) expect(Math.max(...final)).toBeLessThanOrEqual(mine + 1);
        final.forEach((count, i) => void expect(count).toBeLessThanOrEqual(caps[i] ?? 0));
        expect(revoked).toBe(leastTaken(counts(start), caps, start.segments.length));
      }),
      { numRuns, seed: 7 },
    );
  });

  it("never gives away what is not available, nor anything twice", () => {
    const anyStatus = fc.constantFrom("ASSIGNED" as const, "REVOKING" as const);
    const mixed = fleet.chain((state) =>
      fc.array(anyStatus, { minLength: 12, maxLength: 12 }).map((statuses) => ({
        ...state,
        segments: state.segments.map((s, i) =>
          s.workerId === null ? s : { ...s, status: statuses[i] ?? s.status },
        ),
      })),
    );
    fc.assert(
      fc.property(mixed, (state) => {
        const { assign, revoke } = rebalance(state);
        const statusOf = (id: number) => state.segments[id]?.status;
        expect(assign.every((move) => statusOf(move.segmentId) === "AVAILABLE")).toBe(true);
        expect(revoke.every((move) => statusOf(move.segmentId) === "ASSIGNED")).toBe(true);
        const touched = [...assign, ...revoke].map((move) => move.segmentId);
        expect(new Set(touched).size).toBe(touched.length);
        for (const { workerId, cap } of state.workers) {
          const own = state.segments.filter((s) => s.workerId === workerId).length;
          const more = assign.filter((move) => move.workerId === workerId).length;
          if (cap !== null && more > 0) expect(own + more).toBeLessThanOrEqual(cap);
        }
        settle(state);
      }),
      { numRuns, seed: 7 },
    );
  });

  it.each([
    [4, 5, 20],
    [3, 4, 25],
    [1, 2, 50],
  ])("moves as few of 100 as possible when %i workers become %i", (before, after, moved) => {
    const ids = (count: number) => Array.from({ length: count }, (_, i) => worker(`w${i}`));
    const { state } = settle({ workers: ids(before), segments: segments(Array(100).fill(null)) });
    const { revoked, state: later } = settle({ ...state, workers: ids(after) });
    expect(revoked).toBe(moved);
    const final = counts(later);
    expect(Math.max(...final) - Math.min(...final)).toBeLessThanOrEqual(1);
  });

  it("gives the lowest ids first", () => {
    const { assign } = rebalance({ workers: [worker("a", 10)], segments: segments(Array(100).fill(null)) });
    expect(assign.map((move) => move.segmentId)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it("takes everything from a worker that drains, and leaves what no cap covers", () => {
    const drained: WorkerState = { ...worker("a"), status: "DRAINING" };
    const { state } = settle({
      workers: [drained, worker("b", 3)],
      segments: segments(Array(10).fill("a")),
    });
    expect(counts(state)).toEqual([0, 3]);
  });
});
