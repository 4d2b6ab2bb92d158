import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { Database } from "../database/index.ts";
import { setup } from "../testing/index.ts";
import { Fleet } from "./index.ts";

/** Gives segments to a worker as a leader would. */
async function grant(database: Database, workerId: string, segments: readonly number[]): Promise<void> {
  await database.query(
    `UPDATE tallyman.scheduler_segment SET status = 'ASSIGNED', worker_id = $1, assigned_at = clock_timestamp(), epoch = epoch + 1
     WHERE segment_id = ANY ($2::int[])`,
    [workerId, segments],
  );
}

describe("Fleet", () => {
  it("registers a worker that holds nothing until it asks, as often as it likes", async () => {
    await using t = await setup();
    const fleet = new Fleet(t.database);
    await fleet.register("worker-1");
    const again = await fleet.register("worker-1");
    expect(again).toMatchObject({ workerId: "worker-1", status: "ONLINE", cap: 0, assignedSegments: [] });
    expect(await fleet.listWorkers()).toHaveLength(1);
  });

  it("answers a heartbeat with what the worker may work on", async () => {
    await using t = await setup();
    const fleet = new Fleet(t.database);
    await fleet.register("worker-1", { cap: null });
    await grant(t.database, "worker-1", [3, 1]);
    await t.database.query(
      "UPDATE tallyman.scheduler_segment SET status = 'REVOKING', revoke_deadline = clock_timestamp() WHERE segment_id = 3",
    );
    expect(await fleet.heartbeat("worker-1")).toEqual({
      status: "ONLINE",
      assigned: [{ segmentId: 1, epoch: 1 }],
      revoking: [{ segmentId: 3, epoch: 1 }],
    });
    expect(await fleet.segmentsOf("worker-1")).toEqual([1, 3]);
  });

  it("refuses the heartbeat of a worker that nobody registered", async () => {
    await using t = await setup();
    const fleet = new Fleet(t.database);
    await expect(fleet.heartbeat("nobody")).rejects.toMatchObject({ code: "SCHEDULER_WORKER_NOT_FOUND" });
  });

  it("lets a process that starts again keep its segments, and fences the one before", async () => {
    await using t = await setup();
    const fleet = new Fleet(t.database);
    const [first, second] = [randomUUID(), randomUUID()];
    await fleet.register("worker-1", { bootId: first, cap: null });
    await grant(t.database, "worker-1", [0, 1]);
    const { assigned } = await fleet.heartbeat("worker-1", { bootId: first });
    await fleet.register("worker-1", { bootId: second, cap: null });

    await expect(fleet.heartbeat("worker-1", { bootId: first })).rejects.toMatchObject({
      code: "SCHEDULER_WORKER_REPLACED",
    });
    expect(await fleet.release("worker-1", assigned, { bootId: first })).toEqual([]);
    await expect(fleet.release("worker-1", "all", { bootId: first })).rejects.toMatchObject({
      code: "SCHEDULER_WORKER_REPLACED",
    });
    const answer = await fleet.heartbeat("worker-1", { bootId: second });
    expect(answer.assigned).toEqual([
      { segmentId: 0, epoch: 2 },
      { segmentId: 1, epoch: 2 },
    ]);
  });

  it("keeps an id that a process works under from callers that name no process", async () => {
    await using t = await setup();
    const fleet = new Fleet(t.database);
    const bootId = randomUUID();
    await fleet.register("worker-1", { bootId });
    await expect(fleet.register("worker-1")).rejects.toMatchObject({ code: "SCHEDULER_WORKER_ID_TAKEN" });
    await expect(fleet.heartbeat("worker-1")).rejects.toMatchObject({ code: "SCHEDULER_WORKER_REPLACED" });
    await fleet.leave("worker-1", { bootId });
    expect((await fleet.register("worker-1")).status).toBe("ONLINE");
  });

  it("releases only what is still held under the same epoch", async () => {
    await using t = await setup();
    const fleet = new Fleet(t.database);
    await fleet.register("worker-1", { cap: null });
    await fleet.register("worker-2", { cap: null });
    await grant(t.database, "worker-1", [0, 1]);
    const { assigned } = await fleet.heartbeat("worker-1");
    await grant(t.database, "worker-2", [1]);
    expect(await fleet.release("worker-2", assigned)).toEqual([]);
    expect(await fleet.release("worker-1", assigned)).toEqual([0]);
    expect(await fleet.segmentsOf("worker-2")).toEqual([1]);
    await grant(t.database, "worker-1", [0]);
    expect(await fleet.release("worker-1", assigned)).toEqual([]);
  });

  it("leaves for good: segments are free, and a late heartbeat does not bring it back", async () => {
    await using t = await setup();
    const fleet = new Fleet(t.database);
    const bootId = randomUUID();
    await fleet.register("worker-1", { bootId, cap: null });
    await grant(t.database, "worker-1", [0, 1]);
    const counts = { workersOnline: 1, workersUnhealthy: 0, segmentsOwned: 2, segmentCount: 100 };
    expect(await fleet.counts()).toEqual(counts);
    expect(await fleet.leave("worker-1", { bootId })).toEqual([0, 1]);
    expect(await fleet.counts()).toEqual({ ...counts, workersOnline: 0, segmentsOwned: 0 });
    await expect(fleet.heartbeat("worker-1", { bootId })).rejects.toMatchObject({
      code: "SCHEDULER_WORKER_REPLACED",
    });
    expect(await fleet.worker("worker-1")).toMatchObject({ status: "OFFLINE", cap: 0, assignedSegments: [] });
    expect(await fleet.leave("worker-1", { bootId })).toEqual([]);
  });

  it("goes on draining when it is heard of again, until it registers anew", async () => {
    await using t = await setup();
    const fleet = new Fleet(t.database);
    await fleet.register("worker-1");
    expect((await fleet.drain("worker-1")).status).toBe("DRAINING");
    await t.database.query("UPDATE tallyman.scheduler_worker SET status = 'UNHEALTHY'");
    expect((await fleet.heartbeat("worker-1")).status).toBe("DRAINING");
    expect((await fleet.register("worker-1")).status).toBe("ONLINE");
    await expect(fleet.drain("nobody")).rejects.toMatchObject({ code: "SCHEDULER_WORKER_NOT_FOUND" });
  });

  it("changes the number of segments, moves what is stored by segment, and uses no epoch twice", async () => {
    await using t = await setup();
    const fleet = new Fleet(t.database);
    expect(await fleet.segmentCount()).toBe(100);
    await fleet.register("worker-1", { cap: null });
    for (let i = 0; i < 5; i++) await grant(t.database, "worker-1", [7, 90]);
    const seen: number[] = [];
    await fleet.setSegmentCount(10, { remap: async (_tx, count) => void seen.push(count) });
    expect(seen).toEqual([10]);
    expect((await fleet.segmentMap()).every(({ status }) => status === "AVAILABLE")).toBe(true);
    await fleet.setSegmentCount(1024);
    const map = await fleet.segmentMap();
    expect(map).toHaveLength(1024);
    expect(map[90]?.epoch).toBeGreaterThan(5);
    await expect(fleet.setSegmentCount(1025)).rejects.toMatchObject({ code: "INVALID_OPTION" });
  });

  it.each(["", "a b", "x".repeat(201), "../x"])("refuses the id '%s'", async (id) => {
    await using t = await setup();
    await expect(new Fleet(t.database).register(id)).rejects.toMatchObject({ code: "INVALID_OPTION" });
  });
});
