import { setImmediate as settle } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { configOf, ProbeWorld, reaches } from "../../../tests/kit/services.ts";
import { deferred } from "../../runtime/index.ts";
import { setup, type TestContext } from "../../testing/index.ts";
import { doctor, ServiceBoard, ServiceControl, ServiceManager, Tallyman } from "../index.ts";
import { serviceChannel } from "./service-board.ts";

const requestedBy = "mia";
/** Long enough that only a hint, or the test's own doing, ends a wait. */
const never = 600_000;

async function open(t: TestContext, name: string, intervalMs = never) {
  const tallyman = t.use(await Tallyman.connect({ database: t.url }));
  const world = new ProbeWorld();
  const config = configOf("services: { a: { type: Probe, restart: { policy: never } }, b: { type: Probe } }");
  const { services, resources } = world;
  const manager = t.use(new ServiceManager(tallyman, config, { services, resources }));
  const board = t.use(new ServiceBoard(tallyman.database, manager, { name, intervalMs }));
  await board.start();
  await manager.start();
  return { tallyman, world, manager, board };
}

/** The list, once it shows what is looked for. */
async function listed(control: ServiceControl, pattern: RegExp): Promise<string> {
  for (;;) {
    const managers = await control.list();
    const text = managers
      .map(
        ({ name, services }) => `${name}: ${services.map((each) => `${each.name} ${each.state}`).join(", ")}`,
      )
      .join("; ");
    if (pattern.test(text)) return text;
  }
}

/** Enters a process 'alpha' with the services a and b that nobody looks after. */
async function enterGhost(t: TestContext, managerId: string, silentFor: string): Promise<void> {
  await t.database.query(
    `INSERT INTO tallyman.service_manager (manager_id, name, hostname, pid, heartbeat_at, lost_after_ms)
     VALUES ($1, 'alpha', 'host', 1, clock_timestamp() - $2::interval, 600000)`,
    [managerId, silentFor],
  );
  await t.database.query(
    `INSERT INTO tallyman.service (manager_id, name, class_name, position, state, is_starting, restarts)
     SELECT $1, name, 'Probe', 0, 'RUNNING', false, 0 FROM unnest(ARRAY['a', 'b']) AS name`,
    [managerId],
  );
}

describe("ServiceBoard and ServiceControl", () => {
  it("show services to another process and act on them, by hint alone", async () => {
    await using t = await setup();
    const { manager, world } = await open(t, "alpha");
    const control = new ServiceControl(await t.connect());
    expect(await listed(control, /b RUNNING/)).toBe("alpha: a RUNNING, b RUNNING");

    const pausing = control.request("pause", "a", { requestedBy });
    await reaches(manager, "a", "PAUSED");
    world.probe("a").endTurn();
    expect(await pausing).toMatchObject({ manager: "alpha", service: "a", state: "PAUSED" });
    expect((await control.list())[0]?.services[0]).toMatchObject({ state: "PAUSED", className: "Probe" });
    expect(await control.request("stop", "b", { requestedBy })).toMatchObject({ state: "STOPPED" });
    expect(world.events).toContain("b flushed");
    await expect(control.request("pause", "b", { requestedBy })).rejects.toMatchObject({
      code: "SERVICE_WRONG_STATE",
      message: "Can't pause b: it is STOPPED. Possible now: start, restart.",
    });
    await expect(control.request("pause", "c", { requestedBy })).rejects.toMatchObject({
      code: "SERVICE_UNKNOWN",
    });
  });

  it("find requests whose hint was lost, by polling", async () => {
    await using t = await setup();
    await open(t, "alpha", 50);
    const { board } = await open(t, "beta", 50);
    const control = new ServiceControl(await t.connect({ listenUrl: null }));
    await listed(control, /^alpha: a RUNNING, b RUNNING; beta: a RUNNING, b RUNNING$/);
    await t.database.query(
      "INSERT INTO tallyman.service_request (manager_id, service, action, requested_by) VALUES ($1, 'a', 'stop', 'sql')",
      [board.managerId],
    );
    expect(await listed(control, /beta: a STOPPED/)).toBe(
      "alpha: a RUNNING, b RUNNING; beta: a STOPPED, b RUNNING",
    );
  });

  it("tell two processes apart", async () => {
    await using t = await setup();
    const alpha = await open(t, "alpha");
    const beta = await open(t, "beta");
    const control = new ServiceControl(t.database);
    await expect(control.request("stop", "a", { requestedBy })).rejects.toMatchObject({
      code: "SERVICE_AMBIGUOUS",
      message: "2 processes run a service 'a'. Name one with --manager: alpha, beta.",
    });
    await control.request("stop", "a", { requestedBy, manager: "beta" });
    await control.request("stop", "b", { requestedBy, manager: alpha.board.managerId });
    expect(await listed(control, /alpha: .*b STOPPED/)).toBe(
      "alpha: a RUNNING, b STOPPED; beta: a STOPPED, b RUNNING",
    );
    await expect(control.request("stop", "a", { requestedBy, manager: "gamma" })).rejects.toMatchObject({
      code: "SERVICE_UNKNOWN",
      message: "No running process is called 'gamma'. Known: alpha, beta.",
    });
    await beta.manager.stop();
    await beta.board.stop();
    expect((await control.list()).map(({ name }) => name)).toEqual(["alpha"]);
  });

  it("leave a lost process out of requests, and doctor names it and every service in ERROR", async () => {
    await using t = await setup();
    const { world, manager, tallyman, board } = await open(t, "alpha");
    const servicesFinding = async () =>
      (await doctor(tallyman)).findings.find(({ check }) => check === "services");
    t.logs.expectLog({ logger: "a", level: "error", message: "Failed: no space" });
    world.probe("a").fail("no space");
    await reaches(manager, "a", "ERROR");
    const control = new ServiceControl(t.database);
    await listed(control, /a ERROR/);
    expect(await servicesFinding()).toMatchObject({
      status: "failure",
      message: "1 of 2 services run, in 1 process; in ERROR: a on alpha: no space",
    });
    // A board that runs would say on its own, at a late hint, that it is alive.
    await board.stop();
    await enterGhost(t, board.managerId, "1 hour");
    expect((await control.list())[0]).toMatchObject({ isLost: true });
    expect(await servicesFinding()).toMatchObject({
      status: "warning",
      message: "0 of 0 services run, in 0 processes; silent: alpha",
    });
    await expect(control.request("stop", "b", { requestedBy })).rejects.toMatchObject({
      code: "SERVICE_UNKNOWN",
    });
  });

  it("take back a request that nobody took, so that it does not act later", async () => {
    await using t = await setup();
    const { manager, board } = await open(t, "alpha");
    await board.stop();
    await enterGhost(t, board.managerId, "0 s");
    const control = new ServiceControl(t.database);
    await expect(control.request("stop", "a", { requestedBy, timeoutMs: 50 })).rejects.toMatchObject({
      code: "TIMED_OUT",
      message: "alpha was asked to stop a and did not answer, and the request was taken back after 50 ms.",
    });
    expect((await t.database.query("SELECT 1 FROM tallyman.service_request")).rowCount).toBe(0);
    expect(manager.status()[0]?.state).toBe("RUNNING");
  });

  it("never write an older view of the services over a newer one", async () => {
    await using t = await setup();
    const { world, board, manager, tallyman } = await open(t, "alpha");
    const { database } = tallyman;
    const flush = deferred();
    world.probe("a").flushing = () => flush.promise;
    const stopping = new ServiceControl(t.database).request("stop", "a", { requestedBy });
    await expect.poll(() => world.events, { timeout: 20_000 }).toContain("a flushes");

    const older = deferred();
    const written: string[] = [];
    const query = database.query.bind(database);
    const statements = vi.spyOn(database, "query").mockImplementation(async (text, values = []) => {
      if (statements.mock.calls.length === 1) await older.promise;
      if (text.includes("INTO tallyman.service_manager"))
        written.push(JSON.parse(String(values[5]))[0].state);
      return query(text, values) as never;
    });
    await t.database.query("SELECT pg_notify($1, $2)", [serviceChannel(database), board.managerId]);
    await expect.poll(() => statements.mock.calls.length, { timeout: 20_000 }).toBe(1);
    flush.resolve();
    await reaches(manager, "a", "STOPPED");
    await settle();
    older.resolve();
    await stopping;
    expect(written.slice(0, 2)).toEqual(["RUNNING", "STOPPED"]);
  });

  it("do not let a stop that takes long hold up another request, and say so when time runs out", async () => {
    await using t = await setup();
    const { world } = await open(t, "alpha");
    const flush = deferred();
    world.probe("a").flushing = () => flush.promise;
    const control = new ServiceControl(t.database);
    await expect(control.request("stop", "a", { requestedBy, timeoutMs: 3_000 })).rejects.toMatchObject({
      code: "TIMED_OUT",
      message: "alpha was asked to stop a and is still at it after 3000 ms.",
    });
    expect(await control.request("stop", "b", { requestedBy })).toMatchObject({ state: "STOPPED" });
    flush.resolve();
  });

  it("sign off though a service hangs in what somebody asked for", async () => {
    await using t = await setup();
    const { world, board } = await open(t, "alpha");
    const flush = deferred();
    world.probe("a").flushing = () => flush.promise;
    const control = new ServiceControl(t.database);
    const stopping = control.request("stop", "a", { requestedBy });
    await expect.poll(() => world.events, { timeout: 20_000 }).toContain("a flushes");
    const message = "Signing off before all that was asked of services is done.";
    t.logs.expectLog({ logger: "services.board", level: "warn", message });
    await board.stop();
    expect(await control.list()).toEqual([]);
    flush.resolve();
    expect(await stopping).toMatchObject({ state: "STOPPED" });
    expect(await control.list()).toEqual([]);
  });

  it("forget processes that were lost a day ago", async () => {
    await using t = await setup();
    await t.database.query(
      `INSERT INTO tallyman.service_manager (manager_id, name, hostname, pid, heartbeat_at, lost_after_ms)
       SELECT gen_random_uuid(), 'old-' || hours, 'host', 1, clock_timestamp() - hours * interval '1 hour', 1000
       FROM unnest(ARRAY[23, 25]) AS hours`,
    );
    await open(t, "alpha");
    expect((await new ServiceControl(t.database).list()).map(({ name }) => name).toSorted()).toEqual([
      "alpha",
      "old-23",
    ]);
  });
});
