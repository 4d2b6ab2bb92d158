import { describe, expect, it } from "vitest";
import type { Database } from "../database/index.ts";
import { sleep } from "../runtime/index.ts";
import { setup, type TestContext } from "../testing/index.ts";
import { Coordinator, type CoordinatorOptions, Coordinators, Fleet } from "./index.ts";

/** Reacts fast, but leads for long: what a busy machine delays must not end a term. */
const fast = { leaseMs: 30_000, renewMs: 100, joinDelayMs: 0, scanIntervalMs: 50, revokeMs: 300 };
const waitMs = 20_000;

function coordinatorOn(
  t: TestContext,
  id: string,
  options: Partial<CoordinatorOptions> = {},
  database: Database = t.database,
): Coordinator {
  return t.use(new Coordinator(database, { coordinatorId: id, port: 8082, ...fast, ...options }));
}

/** Waits until a condition that other processes bring about holds. */
async function until<T>(look: () => Promise<T | undefined | false>): Promise<T> {
  for (const deadline = performance.now() + waitMs; performance.now() < deadline; await sleep(10)) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
  }
  throw new Error(`The condition did not come true within ${waitMs} ms`);
}

describe("Coordinator", () => {
  it("leads alone, and hands over at once when it stops", async () => {
    await using t = await setup();
    const coordinators = new Coordinators(t.database);
    const first = coordinatorOn(t, "c1");
    const second = coordinatorOn(t, "c2", { port: 8092 });
    await first.start();
    await until(() => coordinators.findLeader());
    await second.start();
    await until(async () => (await coordinators.list()).length === 2);
    expect(await coordinators.leader()).toMatchObject({ coordinatorId: "c1", epoch: 1, port: 8082 });
    expect(second.term).toBeUndefined();
    expect(first.getMetrics()).toMatchObject({ is_leader: 1, leader_epoch: 1, elections_won: 1 });

    await first.stop();
    const leader = await until(() => coordinators.findLeader());
    expect(leader).toMatchObject({ coordinatorId: "c2", epoch: 2, port: 8092 });
    expect(
      (await coordinators.list()).map(({ coordinatorId, isLeader }) => ({ coordinatorId, isLeader })),
    ).toEqual([{ coordinatorId: "c2", isLeader: true }]);
  });

  it("shares all segments among workers without a cap, and gives back those of one that leaves", async () => {
    await using t = await setup();
    const fleet = new Fleet(t.database);
    await coordinatorOn(t, "c1").start();
    for (const id of ["a", "b", "c"]) await fleet.register(id, { cap: null });
    const sizes = async () => (await fleet.listWorkers()).map((worker) => worker.assignedSegments.length);
    const isOwned = async () => (await sizes()).reduce((sum, size) => sum + size, 0) === 100;
    await until(isOwned);
    // Workers that give back at once what they are asked for.
    const serve = async () => {
      for (const id of ["a", "b", "c"]) {
        const { revoking } = await fleet.heartbeat(id);
        await fleet.release(id, revoking);
      }
      return (await sizes()).toSorted((x, y) => x - y).join() === "33,33,34";
    };
    await until(serve);
    await fleet.leave("c");
    await until(async () => (await sizes()).join() === "50,50,0");
  });

  it("takes a silent worker's segments at its timeout, and says OFFLINE after another", async () => {
    await using t = await setup();
    const fleet = new Fleet(t.database);
    await coordinatorOn(t, "c1").start();
    await fleet.register("a", { cap: null, heartbeatTimeoutMs: 60_000 });
    await until(async () => (await fleet.segmentsOf("a")).length === 100);
    const fallSilent = (seconds: number) =>
      t.database.query(
        "UPDATE tallyman.scheduler_worker SET last_heartbeat_time = clock_timestamp() - $1 * interval '1 s'",
        [seconds],
      );
    await fallSilent(61);
    await until(async () => (await fleet.worker("a")).status === "UNHEALTHY");
    expect(await fleet.segmentsOf("a")).toEqual([]);
    await fallSilent(121);
    await until(async () => (await fleet.worker("a")).status === "OFFLINE");
    expect((await fleet.heartbeat("a")).status).toBe("ONLINE");
    await until(async () => (await fleet.segmentsOf("a")).length === 100);
  });

  it("takes what is not given back at the deadline", async () => {
    await using t = await setup();
    const fleet = new Fleet(t.database);
    await coordinatorOn(t, "c1").start();
    await fleet.register("a", { cap: null });
    await until(async () => (await fleet.segmentsOf("a")).length === 100);
    const before = await fleet.heartbeat("a");
    await fleet.register("b", { cap: null });
    await until(async () => (await fleet.segmentsOf("b")).length === 50);
    const after = await fleet.heartbeat("a");
    expect(after.assigned).toEqual(before.assigned.slice(0, 50));
    expect(await fleet.release("a", before.assigned.slice(50))).toEqual([]);
  });

  it("answers requests: the lowest ids at once, the same again changes nothing, lower revokes", async () => {
    await using t = await setup();
    const fleet = new Fleet(t.database);
    const coordinator = coordinatorOn(t, "c1", { revokeMs: 60_000 });
    await coordinator.start();
    await until(async () => coordinator.term !== undefined);
    await fleet.register("a");
    expect((await coordinator.assign("a", 10)).assignedSegments).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const map = await fleet.segmentMap();
    await coordinator.assign("a", 10);
    expect(await fleet.segmentMap()).toEqual(map);
    expect((await coordinator.assign("a", 12)).assignedSegments).toHaveLength(12);
    await coordinator.assign("a", 4);
    const { assigned, revoking } = await fleet.heartbeat("a");
    expect(assigned.map(({ segmentId }) => segmentId)).toEqual([0, 1, 2, 3]);
    expect(await fleet.release("a", revoking)).toEqual([4, 5, 6, 7, 8, 9, 10, 11]);
    expect(await fleet.release("a", "all")).toEqual([0, 1, 2, 3]);
    expect(await fleet.worker("a")).toMatchObject({ cap: 0, assignedSegments: [] });

    await expect(coordinator.assign("nobody", 1)).rejects.toMatchObject({
      code: "SCHEDULER_WORKER_NOT_FOUND",
    });
    await expect(coordinator.assign("a", 1025)).rejects.toMatchObject({ code: "INVALID_OPTION" });
    await fleet.drain("a");
    await expect(coordinator.assign("a", 5)).rejects.toMatchObject({ code: "INVALID_STATE" });
  });

  it("gives the rest by rebalance when too few are available", async () => {
    await using t = await setup();
    const fleet = new Fleet(t.database);
    const coordinator = coordinatorOn(t, "c1", { revokeMs: 60_000 });
    await coordinator.start();
    await fleet.register("a", { cap: null });
    await until(async () => (await fleet.segmentsOf("a")).length === 100);
    await fleet.register("b");
    expect((await coordinator.assign("b", 10)).assignedSegments).toEqual([]);
    await until(async () => {
      const { revoking } = await fleet.heartbeat("a");
      await fleet.release("a", revoking);
      return (await fleet.segmentsOf("b")).length === 10;
    });
    expect(await fleet.segmentsOf("a")).toHaveLength(90);
  });

  it("revokes everything from a worker that drains", async () => {
    await using t = await setup();
    const fleet = new Fleet(t.database);
    await coordinatorOn(t, "c1", { revokeMs: 60_000 }).start();
    await fleet.register("a", { cap: null });
    await until(async () => (await fleet.segmentsOf("a")).length === 100);
    await fleet.drain("a");
    const revoking = await until(async () => {
      const answer = await fleet.heartbeat("a");
      return answer.revoking.length === 100 && answer.revoking;
    });
    await fleet.release("a", revoking);
    expect((await fleet.segmentMap()).every(({ status }) => status === "AVAILABLE")).toBe(true);
  });

  it("refuses to answer while another leads", async () => {
    await using t = await setup();
    const fleet = new Fleet(t.database);
    const first = coordinatorOn(t, "c1");
    await first.start();
    await until(async () => first.term !== undefined);
    const second = coordinatorOn(t, "c2");
    await second.start();
    await fleet.register("a");
    await expect(second.assign("a", 1)).rejects.toMatchObject({ code: "SCHEDULER_NO_LEADER" });
  });

  it("stops when another process runs under its id", async () => {
    await using t = await setup();
    const first = coordinatorOn(t, "c1", { heartbeatIntervalMs: 50, heartbeatTimeoutMs: 100 });
    await first.start();
    t.logs.expectLog({
      logger: "scheduler.coordinator",
      level: "error",
      message: "Failed: Another process runs*",
    });
    await coordinatorOn(t, "c1").start();
    await until(async () => first.state === "ERROR");
    expect(first.failure).toMatchObject({ code: "SCHEDULER_COORDINATOR_REPLACED" });
  });

  it("registers again when it was forgotten", async () => {
    await using t = await setup();
    const sleeper = coordinatorOn(t, "c1", { heartbeatIntervalMs: 50, heartbeatTimeoutMs: 60_000 });
    await sleeper.start();
    await t.database.query("DELETE FROM tallyman.scheduler_coordinator");
    const coordinators = new Coordinators(t.database);
    const [known] = await until(async () => {
      const list = await coordinators.list();
      return list.length > 0 && list;
    });
    expect(known).toMatchObject({ coordinatorId: "c1", port: 8082, status: "ONLINE" });
    expect(sleeper.state).toBe("RUNNING");
  });

  it("refuses settings that would fail healthy nodes", async () => {
    await using t = await setup();
    const make = (options: Partial<CoordinatorOptions>) => () =>
      new Coordinator(t.database, { coordinatorId: "c", port: 1, ...options });
    expect(make({ heartbeatIntervalMs: 100, heartbeatTimeoutMs: 199 })).toThrow(/at least twice/);
    expect(make({ leaseMs: 1000, renewMs: 400 })).toThrow(/third of leaseMs/);
    expect(make({ coordinatorId: "a b" })).toThrow(/coordinatorId/);
  });

  it("forgets workers and coordinators that are gone for a day", async () => {
    await using t = await setup();
    const fleet = new Fleet(t.database);
    await fleet.register("old");
    await fleet.leave("old");
    await new Coordinators(t.database).register("gone", { host: "localhost", port: 1 });
    for (const table of ["scheduler_worker", "scheduler_coordinator"])
      await t.database.query(
        `UPDATE tallyman.${table} SET last_heartbeat_time = clock_timestamp() - interval '25 h'`,
      );
    await coordinatorOn(t, "c1").start();
    await until(async () => (await fleet.listWorkers()).length === 0);
    const ids = (await new Coordinators(t.database).list()).map(({ coordinatorId }) => coordinatorId);
    expect(ids).toEqual(["c1"]);
  });
});
