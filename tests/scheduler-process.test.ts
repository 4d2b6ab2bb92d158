import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Database, EmbeddedServer, migrate } from "../src/database/index.ts";
import { Coordinators, Fleet } from "../src/scheduler/index.ts";
import { setup, startChild } from "../src/testing/index.ts";
import { servingPort } from "../src/testing/serving-port.ts";
import { killPostgres } from "./helpers/kill-postgres.ts";
import {
  ask,
  type CoordinatorProcess,
  coordinatorLauncher,
  idleWorkers,
  sharesOf,
  until,
} from "./kit/scheduler.ts";

/** The full size is SCHEDULER_KILLS=100 SCHEDULER_RESTARTS=10; the default is what CI can spare. */
const kills = Number(process.env.SCHEDULER_KILLS ?? 2);
const restarts = Number(process.env.SCHEDULER_RESTARTS ?? 1);
/** Processes take their time to start on a machine under load. */
const timeoutMs = 180_000;
const settings = { heartbeatInterval: 1_000, heartbeatTimeout: 2_000, leaderLease: 2_000 };

async function leaderAmong(processes: readonly CoordinatorProcess[], database: Database) {
  const leader = await new Coordinators(database).findLeader();
  return processes.find(({ id }) => id === leader?.coordinatorId);
}

describe("the documented scenarios, with short timeouts", { timeout: timeoutMs }, () => {
  it("1: elects one leader, and fails over when it stops", async () => {
    await using t = await setup();
    // A lease that outlasts the test: only a resignation can hand over.
    const launch = await coordinatorLauncher(t, { ...settings, leaderLease: 600_000 });
    const processes = await Promise.all([launch("coordinator-1"), launch("coordinator-2")]);
    const leader = await until("one leads", () => leaderAmong(processes, t.database));
    const answers = await Promise.all(processes.map(({ url }) => ask(url, "GET /api/coordinator/leader")));
    expect(answers[0]).toMatchObject({ coordinatorId: leader.id, isLeader: true, epoch: 1 });
    expect(answers[1]).toEqual(answers[0]);

    leader.child.kill("SIGTERM");
    expect(await leader.child.exit).toEqual({ code: 0, signal: null });
    const next = processes.find((process) => process !== leader);
    const isNext = async () =>
      (await ask(next?.url ?? "", "GET /api/coordinator/leader")).coordinatorId === next?.id;
    await until("the other leads", isNext);
    expect(await ask(next?.url ?? "", "GET /api/coordinator/leader")).toMatchObject({ epoch: 2 });
  });

  it("2 and 3: assigns the segments a worker asks for, and releases them when it falls silent", async () => {
    await using t = await setup();
    const launch = await coordinatorLauncher(t, { ...settings, heartbeatTimeout: 10_000 });
    const { url } = await launch("coordinator-1");
    await until("it leads", async () => (await ask(url, "GET /api/coordinator/leader")).isLeader === true);
    expect(await ask(url, "POST /api/scheduler-workers/register?workerId=worker-1")).toMatchObject({
      status: "ONLINE",
      assignedSegments: [],
    });
    await ask(url, "POST /api/segments/assign?workerId=worker-1&desiredSegments=10");
    const segments = () => ask(url, "GET /api/segments?workerId=worker-1");
    expect(await segments()).toEqual({ workerId: "worker-1", segments: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] });

    await until("its segments are released", async () => (await segments()).segments?.toString() === "");
    expect(await segments()).toEqual({ workerId: "worker-1", segments: [] });
    const [worker] = Object.values(await ask(url, "GET /api/scheduler-workers?all=true"));
    expect(worker).toMatchObject({
      workerId: "worker-1",
      status: expect.stringMatching(/UNHEALTHY|OFFLINE/),
    });
  });
});

describe("a leader that the system stops", { timeout: timeoutMs }, () => {
  it("has its next write refused once another was elected", async () => {
    await using t = await setup();
    const fleet = new Fleet(t.database);
    await fleet.register("worker-1", { cap: null, heartbeatTimeoutMs: 600_000 });
    await using stale = startChild(new URL("./children/stale-leader.child.ts", import.meta.url), {
      args: [t.url],
    });
    expect(await stale.line("elected")).toBe("elected true 1");
    const launch = await coordinatorLauncher(t, settings);
    const { id } = await launch("coordinator-1");
    const leader = await until("another leads", () => new Coordinators(t.database).findLeader());
    expect(leader).toMatchObject({ coordinatorId: id, epoch: 2 });
    await until("everything is owned", async () => (await fleet.segmentsOf("worker-1")).length === 100);
    const before = await fleet.segmentMap();
    stale.kill("SIGCONT");
    expect(await stale.line("after")).toBe('after the stop: {"assigned":"refused","renewed":false}');
    expect(await fleet.segmentMap()).toEqual(before);
  });

  it("follows the new one when it goes on", async () => {
    await using t = await setup();
    // The worker says nothing after it has registered, and the new leader stays.
    const launch = await coordinatorLauncher(t, {
      ...settings,
      heartbeatTimeout: 600_000,
      leaderLease: 6_000,
    });
    const processes = await Promise.all([launch("coordinator-1"), launch("coordinator-2")]);
    const old = await until("one leads", () => leaderAmong(processes, t.database));
    const others = processes.filter((process) => process !== old);
    old.child.kill("SIGSTOP");
    const next = await until("the other leads", () => leaderAmong(others, t.database));
    old.child.kill("SIGCONT");
    expect(await ask(old.url, "GET /api/coordinator/leader")).toMatchObject({ coordinatorId: next.id });
    await ask(old.url, "POST /api/scheduler-workers/register?workerId=w");
    const assign = "POST /api/segments/assign?workerId=w&desiredSegments=5";
    expect(await ask(old.url, assign)).toEqual({ workerId: "w", segments: [0, 1, 2, 3, 4] });
    const { rows } = await t.database.query(
      "SELECT DISTINCT leader_epoch::int AS epoch FROM tallyman.scheduler_segment WHERE status = 'ASSIGNED'",
    );
    expect(rows).toEqual([{ epoch: 2 }]);
  });
});

it(
  `keeps one leader and every segment owned once through ${kills} kills of the leader`,
  async () => {
    await using t = await setup();
    const launch = await coordinatorLauncher(t, settings);
    const fleet = new Fleet(t.database);
    await using _workers = idleWorkers(fleet, ["a", "b", "c"]);
    const processes = [await launch("coordinator-0"), await launch("coordinator-1")];
    const lead = async () => {
      const leader = await new Coordinators(t.database).findLeader();
      const process = processes.find(({ id }) => id === leader?.coordinatorId);
      return leader && process && { ...process, epoch: leader.epoch };
    };
    const epochs: number[] = [];
    for (let kill = 0; kill < kills; kill++) {
      const { id, child, epoch } = await until("somebody leads", lead);
      epochs.push(epoch);
      child.kill("SIGKILL");
      await child.exit;
      const index = processes.findIndex((process) => process.id === id);
      processes[index] = await launch(`coordinator-${kill + 2}`);
    }
    epochs.push((await until("somebody leads", lead)).epoch);
    expect(epochs).toEqual([...new Set(epochs)].sort((a, b) => a - b));
    const shares = async () => sharesOf(await fleet.segmentMap()).sort((a, b) => b - a);
    await until("all are owned fairly", async () => (await shares()).join() === "34,33,33");
  },
  timeoutMs + kills * 30_000,
);

it(
  `goes on after ${restarts} crashes of PostgreSQL`,
  async () => {
    await using t = await setup();
    t.logs.expectLog({
      logger: "database.embedded",
      level: "warn",
      message: "Lost the embedded PostgreSQL, attaching again",
    });
    const folder = join(await t.temporaryFolder(), "postgres");
    const embedded = { fsync: "off", full_page_writes: "off" };
    const port = await servingPort();
    const server = t.use(await EmbeddedServer.attach({ folder, port, settings: embedded }));
    const database = t.use(await Database.connect({ url: server.url(), listenUrl: null }, server));
    await migrate(database);
    const launch = await coordinatorLauncher(t, settings, server.url());
    const processes = await Promise.all([launch("coordinator-1"), launch("coordinator-2")]);
    const fleet = new Fleet(database);
    await using _workers = idleWorkers(fleet, ["a", "b", "c"]);
    const map = () => until("the map can be read", () => fleet.segmentMap().catch(() => undefined));
    const seen: number[][] = [];
    for (let restart = 0; restart < restarts; restart++) {
      await until("all are owned", async () => sharesOf(await map()).reduce((sum, n) => sum + n, 0) === 100);
      seen.push((await map()).map(({ epoch }) => epoch));
      await killPostgres(server.folder);
      // Only a leader that works gives a newcomer its share.
      const newcomer = `newcomer-${restart}`;
      t.use(idleWorkers(fleet, [newcomer]));
      const hasShare = async () => (await map()).some(({ workerId }) => workerId === newcomer);
      await until("a newcomer gets its share", hasShare, 60_000);
    }
    await until("somebody leads", () => leaderAmong(processes, database).catch(() => undefined));
    seen.push((await map()).map(({ epoch }) => epoch));
    // What was committed was not lost: no epoch went back.
    for (const [i, epochs] of seen.entries())
      expect(epochs.every((epoch, id) => epoch >= (seen[i - 1]?.[id] ?? 0))).toBe(true);
  },
  timeoutMs + restarts * 60_000,
);
