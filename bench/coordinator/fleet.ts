/** A fleet to measure with: real coordinators, and workers that do nothing but hold segments. */
import { Database } from "../../src/database/index.ts";
import { sleep } from "../../src/runtime/index.ts";
import { Coordinator, type Fleet } from "../../src/scheduler/index.ts";

/** The leader's lease. */
export const leaseMs = 10_000;
const pollMs = 2;

/** Time until a condition holds, in milliseconds. */
export async function timeUntil(look: () => boolean | Promise<boolean>): Promise<number> {
  const startMs = performance.now();
  while (!(await look())) await sleep(pollMs);
  return performance.now() - startMs;
}

/** A coordinator with a pool and a listener of its own, as in another process. */
export async function startCoordinator(url: string, coordinatorId: string) {
  const own = await Database.connect({ url });
  const coordinator = new Coordinator(own, { coordinatorId, port: 8082, leaseMs });
  await coordinator.start();
  return {
    coordinator,
    async [Symbol.asyncDispose]() {
      await coordinator.stop();
      await own.close();
    },
  };
}

/** A worker that does nothing but give back what it is asked for, whenever its segments change. */
export async function startWorker(fleet: Fleet, workerId: string) {
  await fleet.register(workerId, { cap: null });
  let isStopped = false;
  const loop = (async () => {
    while (!isStopped) {
      const { revoking } = await fleet.heartbeat(workerId);
      if (revoking.length > 0) await fleet.release(workerId, revoking);
      await sleep(revoking.length > 0 ? 10 : 100);
    }
  })();
  /** Ends what it does, then leaves; returns the time since it began to leave. */
  return async () => {
    isStopped = true;
    await loop;
    const startMs = performance.now();
    await fleet.leave(workerId);
    return () => performance.now() - startMs;
  };
}

/** Segments of each worker that has some, and whether all segments are owned. */
export async function shares(fleet: Fleet): Promise<{ counts: number[]; isWhole: boolean }> {
  const map = await fleet.segmentMap();
  const counts = new Map<string, number>();
  for (const { workerId } of map) if (workerId) counts.set(workerId, (counts.get(workerId) ?? 0) + 1);
  return { counts: [...counts.values()], isWhole: map.every(({ status }) => status === "ASSIGNED") };
}

/** All segments are owned by so many workers, with a spread of one at most. */
export async function isSettled(fleet: Fleet, workers: number): Promise<boolean> {
  const { counts, isWhole } = await shares(fleet);
  return isWhole && counts.length === workers && Math.max(...counts) - Math.min(...counts) <= 1;
}
