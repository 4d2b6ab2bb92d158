import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { Database, Transaction } from "../database/index.ts";
import { deferred, sleep } from "../runtime/index.ts";
import { setup, type TestContext } from "../testing/index.ts";
import { coordinatorStore, type Term } from "./coordinator-store.ts";
import { Fleet, type SegmentInfo } from "./index.ts";
import { assignSegments, takeBack } from "./sql/leader.ts";
import { acquireLease, renewLease, resignLease } from "./sql/lease.ts";
import { heartbeatWorker, releaseAllSegments } from "./sql/worker.ts";

/** Each test stops one statement in the middle of another, at the place where a missing fence would show. */
const leaseMs = 60_000;
const [x, y] = [randomUUID(), randomUUID()];

function bid(holder: string, coordinatorId = "c") {
  return { holder, coordinatorId, host: "127.0.0.1", port: 1, leaseMs };
}

async function expireLease(database: Database): Promise<void> {
  await database.query(
    "UPDATE tallyman.scheduler_leader_lease SET expires_at = clock_timestamp() - interval '1 ms'",
  );
}

/** X has been elected in term 1, and its lease has run out; segment 0 is worker a's, worker b is silent. */
async function staleLeader(t: TestContext): Promise<Term> {
  const fleet = new Fleet(t.database);
  await fleet.register("a", { cap: null });
  await fleet.register("b", { cap: null });
  const { epoch } = await acquireLease(t.database, bid(x));
  const term = { holder: x, epoch };
  await assignSegments(t.database, term, [{ segmentId: 0, epoch: 0, workerId: "a" }]);
  await t.database.query(
    "UPDATE tallyman.scheduler_worker SET last_heartbeat_time = clock_timestamp() - interval '2 days' WHERE worker_id = 'b'",
  );
  await expireLease(t.database);
  return term;
}

/** A transaction that has done its work and waits to be told to commit. */
async function held(database: Database, work: (tx: Transaction) => Promise<unknown>) {
  const [done, mayCommit] = [deferred(), deferred()];
  const committed = database.transaction(async (tx) => {
    await work(tx);
    done.resolve();
    await mayCommit.promise;
  });
  await Promise.race([done.promise, committed]);
  return async () => {
    mayCommit.resolve();
    await committed;
  };
}

/** Waits until the statement hangs on a lock; an error when it gets through instead. */
async function blocked(database: Database, statement: Promise<unknown>): Promise<void> {
  let isThrough = false;
  statement.then(
    () => (isThrough = true),
    () => (isThrough = true),
  );
  for (;;) {
    const { rows } = await database.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    if (isThrough) throw new Error("The statement was not held up: its fence is missing");
    if (rows.length > 0) return;
    await sleep(5);
  }
}

async function everything(database: Database): Promise<unknown> {
  const { rows } = await database.query(
    `SELECT (SELECT json_agg(s ORDER BY segment_id) FROM tallyman.scheduler_segment s) AS segments,
            (SELECT json_agg(w ORDER BY worker_id) FROM tallyman.scheduler_worker w) AS workers,
            (SELECT json_agg(c) FROM tallyman.scheduler_coordinator c) AS coordinators`,
  );
  return rows;
}

async function segment(database: Database, id = 0): Promise<SegmentInfo | undefined> {
  return (await new Fleet(database).segmentMap())[id];
}

const move = { segmentId: 0, epoch: 1, workerId: "a" };
const free = { segmentId: 1, epoch: 0, workerId: "a" };

describe("a leader whose term is over", () => {
  it.each([
    ["takeBack", (store, term) => store.takeBack(term)],
    ["assign", (store, term) => store.assign(term, [free])],
    ["revoke", (store, term) => store.revoke(term, [move], 1000)],
    ["deleteForgotten", (store, term) => store.deleteForgotten(term, 1000)],
    [
      "assignDesired",
      async (store, term) => {
        const request = { workerId: "a", desiredSegments: 5, revokeMs: 1000 };
        const outcome = await store.assignDesired(term, request);
        return outcome === "NOT_LEADER" ? undefined : outcome;
      },
    ],
  ] as [string, (store: ReturnType<typeof coordinatorStore>, term: Term) => Promise<unknown>][])(
    "%s is refused, also when the election commits while it runs",
    async (_name, write) => {
      await using t = await setup();
      const term = await staleLeader(t);
      const before = await everything(t.database);
      const store = coordinatorStore(t.database);
      const commit = await held(t.database, (tx) => acquireLease(tx, bid(y)));
      const late = write(store, term);
      await blocked(t.database, late);
      await commit();
      expect(await late).toBeUndefined();
      expect(await write(store, term)).toBeUndefined();
      // Neither the right epoch alone nor the right process alone will do.
      expect(await write(store, { holder: x, epoch: 2 })).toBeUndefined();
      expect(await write(store, { holder: y, epoch: 1 })).toBeUndefined();
      expect(await everything(t.database)).toEqual(before);
    },
  );

  it("has committed what it began before the next one is elected", async () => {
    await using t = await setup();
    const term = await staleLeader(t);
    const done: string[] = [];
    const unlock = await held(t.database, (tx) =>
      tx.query("SELECT FROM tallyman.scheduler_segment WHERE segment_id = 1 FOR UPDATE"),
    );
    const write = assignSegments(t.database, term, [free]).then((count) => done.push(`wrote ${count}`));
    await blocked(t.database, write);
    const election = acquireLease(t.database, bid(y)).then(({ epoch }) => done.push(`elected ${epoch}`));
    // Two statements wait: the write for the segment, the election for the write.
    const waiting = async () =>
      (
        await t.database.query(
          "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
        )
      ).rows.length;
    while (done.length === 0 && (await waiting()) < 2) await sleep(5);
    expect(done).toEqual([]);
    await unlock();
    await Promise.all([write, election]);
    // The two answers come on two connections, in either order.
    expect(done.sort()).toEqual(["elected 2", "wrote 1"]);
  });
});

describe("the lease", () => {
  it("is renewed by process and epoch, never by name", async () => {
    await using t = await setup();
    const first = await acquireLease(t.database, bid(x, "same-name"));
    await expireLease(t.database);
    const second = await acquireLease(t.database, bid(y, "same-name"));
    expect(second).toMatchObject({ isMine: true, epoch: first.epoch + 1 });
    expect(await renewLease(t.database, { holder: x, epoch: first.epoch }, leaseMs)).toBe(false);
    expect(await renewLease(t.database, { holder: x, epoch: second.epoch }, leaseMs)).toBe(false);
    expect(await renewLease(t.database, { holder: y, epoch: first.epoch }, leaseMs)).toBe(false);
    expect(await renewLease(t.database, { holder: y, epoch: second.epoch }, leaseMs)).toBe(true);
    for (const [holder, epoch] of [
      [x, second.epoch],
      [y, first.epoch],
    ] as const)
      expect(await resignLease(t.database, { holder, epoch })).toBe(false);
    expect(await resignLease(t.database, { holder: y, epoch: second.epoch })).toBe(true);
  });

  it("is not renewed once it has run out, though nobody has taken it", async () => {
    await using t = await setup();
    const { epoch } = await acquireLease(t.database, bid(x));
    await expireLease(t.database);
    expect(await renewLease(t.database, { holder: x, epoch }, leaseMs)).toBe(false);
  });

  it("goes to one of many that bid at once, and tells the others how long it lasts", async () => {
    await using t = await setup();
    const database = await t.connect({ poolMax: 20 });
    const bids = await Promise.all(
      Array.from({ length: 20 }, () => acquireLease(database, bid(randomUUID()))),
    );
    expect(bids.filter(({ isMine }) => isMine)).toHaveLength(1);
    const { isMine, remainingMs } = await acquireLease(database, bid(randomUUID()));
    expect({ isMine, isLong: remainingMs > leaseMs / 2 }).toEqual({ isMine: false, isLong: true });
  });

  it("is found again by a process that won it without hearing of it", async () => {
    await using t = await setup();
    const won = await acquireLease(t.database, bid(x));
    expect(await acquireLease(t.database, bid(x))).toMatchObject({ epoch: won.epoch, isMine: true });
    expect(await acquireLease(t.database, bid(y))).toMatchObject({ epoch: won.epoch, isMine: false });
  });
});

describe("a worker whose grant is over", () => {
  it("releases nothing of the next owner, also when the change commits while it releases", async () => {
    await using t = await setup();
    await staleLeader(t);
    const fleet = new Fleet(t.database);
    const commit = await held(t.database, (tx) =>
      tx.query(
        "UPDATE tallyman.scheduler_segment SET worker_id = 'b', epoch = epoch + 1 WHERE segment_id = 0",
      ),
    );
    const release = fleet.release("a", [{ segmentId: 0, epoch: 1 }]);
    await blocked(t.database, release);
    await commit();
    expect(await release).toEqual([]);
    expect(await segment(t.database)).toMatchObject({ workerId: "b", epoch: 2 });
    // The same worker again, under another epoch: the old grant is not the new one.
    await t.database.query(
      "UPDATE tallyman.scheduler_segment SET worker_id = 'a', epoch = 3 WHERE segment_id = 0",
    );
    expect(await fleet.release("a", [{ segmentId: 0, epoch: 1 }])).toEqual([]);
  });

  it("gets nothing once it has left, also when it leaves while the leader assigns", async () => {
    await using t = await setup();
    const term = await staleLeader(t);
    const commit = await held(t.database, (tx) =>
      releaseAllSegments(tx, { workerId: "a", bootId: null, leaves: true }),
    );
    const assign = assignSegments(t.database, term, [free]);
    await blocked(t.database, assign);
    await commit();
    expect(await assign).toBe(0);
    expect(await segment(t.database, 1)).toMatchObject({ status: "AVAILABLE" });
  });

  it("is replaced with all that it was given, also with what it is being given just then", async () => {
    await using t = await setup();
    const term = await staleLeader(t);
    const fleet = new Fleet(t.database);
    const commit = await held(t.database, (tx) => assignSegments(tx, term, [free]));
    const register = fleet.register("a", { bootId: randomUUID(), cap: null });
    await blocked(t.database, register);
    await commit();
    await register;
    expect(await segment(t.database, 1)).toMatchObject({ workerId: "a", epoch: 2 });
    expect(await fleet.release("a", [{ segmentId: 1, epoch: 1 }])).toEqual([]);
  });

  it("keeps its segment from the next owner until what it does there has committed", async () => {
    await using t = await setup();
    const term = await staleLeader(t);
    const commit = await held(t.database, (tx) =>
      tx.query(
        `SELECT FROM tallyman.scheduler_segment WHERE segment_id = 0 AND worker_id = 'a' AND epoch = 1
           AND status IN ('ASSIGNED', 'REVOKING') FOR SHARE`,
      ),
    );
    await t.database.query(
      "UPDATE tallyman.scheduler_worker SET last_heartbeat_time = clock_timestamp() - interval '1 h' WHERE worker_id = 'a'",
    );
    // The scan does not wait for a worker that hangs in a transaction: it comes back for the segment.
    expect(await takeBack(t.database, term)).toMatchObject({ unhealthy: 2, segments: 0 });
    expect(await segment(t.database)).toMatchObject({ workerId: "a", epoch: 1 });
    await commit();
    expect(await takeBack(t.database, term)).toMatchObject({ segments: 1 });
    expect(await segment(t.database)).toMatchObject({ workerId: null, epoch: 2 });
  });

  it("is not taken for dead when its heartbeat commits while the scan looks", async () => {
    await using t = await setup();
    const term = await staleLeader(t);
    const commit = await held(t.database, (tx) => heartbeatWorker(tx, "b", null));
    expect(await takeBack(t.database, term)).toMatchObject({ unhealthy: 0 });
    await commit();
    expect(await takeBack(t.database, term)).toMatchObject({ unhealthy: 0 });
  });

  it("is given only what has not moved since the rebalance was computed", async () => {
    await using t = await setup();
    const term = await staleLeader(t);
    expect(await assignSegments(t.database, term, [{ ...free, epoch: 7 }])).toBe(0);
    expect(await assignSegments(t.database, term, [{ ...free, segmentId: 0, epoch: 1 }])).toBe(0);
    const store = coordinatorStore(t.database);
    expect(await store.revoke(term, [{ ...move, epoch: 0 }], 1000)).toBe(0);
    expect(await store.revoke(term, [{ ...move, workerId: "b" }], 1000)).toBe(0);
    expect(await store.revoke(term, [move], 1000)).toBe(1);
  });
});
