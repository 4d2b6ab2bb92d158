import { describe, expect, it } from "vitest";
import { openServer } from "../../tests/kit/api.ts";
import { configOf, ProbeWorld } from "../../tests/kit/services.ts";
import { ServiceBoard, ServiceManager, Tallyman } from "../app/index.ts";
import { setup, type TestContext } from "../testing/index.ts";

/** A server, and processes of these names that run the services a and b. */
async function open(t: TestContext, ...names: string[]) {
  const { client } = await openServer(t);
  const boards = [];
  for (const name of names) {
    const tallyman = t.use(await Tallyman.connect({ database: t.url }));
    const { services, resources } = new ProbeWorld();
    const config = configOf("services: { a: { type: Probe }, b: { type: Probe } }");
    const manager = t.use(new ServiceManager(tallyman, config, { services, resources }));
    const board = t.use(new ServiceBoard(tallyman.database, manager, { name, intervalMs: 600_000 }));
    await board.start();
    await manager.start();
    boards.push(board);
  }
  return { boards, client };
}

const params = { service: "a" };

describe("services over HTTP", () => {
  it("lists processes with their services, and stops and starts one", async () => {
    await using t = await setup();
    const { client } = await open(t, "alpha");
    const stopped = await client.call("POST /api/services/:service/stop", {
      params,
      body: { reason: "a new disk" },
    });
    expect(stopped).toMatchObject({ manager: "alpha", service: "a", state: "STOPPED" });
    expect(await client.call("GET /api/services")).toMatchObject([
      { name: "alpha", isLost: false, services: [{ name: "a", state: "STOPPED" }, { name: "b" }] },
    ]);
    expect(await client.call("POST /api/services/:service/start", { params })).toMatchObject({
      state: "RUNNING",
    });
    expect(await client.call("POST /api/services/:service/restart", { params })).toMatchObject({
      state: "RUNNING",
    });
    const { items } = await client.call("GET /api/actions");
    expect(items.map(({ action }) => action)).toEqual(["service.restart", "service.start", "service.stop"]);
    expect(items[2]).toMatchObject({ target: { service: "a", manager: "alpha" }, reason: "a new disk" });
  });

  it("answers 404 for what is unknown and 409 for what does not fit", async () => {
    await using t = await setup();
    const { client } = await open(t, "alpha", "beta");
    const stop = (service: string, manager?: string) =>
      client.call("POST /api/services/:service/stop", {
        params: { service },
        body: manager === undefined ? {} : { manager },
      });
    await expect(stop("c")).rejects.toMatchObject({ status: 404, code: "SERVICE_UNKNOWN" });
    await expect(stop("a", "gamma")).rejects.toMatchObject({ status: 404, code: "SERVICE_UNKNOWN" });
    await expect(stop("a")).rejects.toMatchObject({ status: 409, code: "SERVICE_AMBIGUOUS" });
    const resume = client.call("POST /api/services/:service/resume", { params, body: { manager: "beta" } });
    await expect(resume).rejects.toMatchObject({ status: 409, code: "SERVICE_WRONG_STATE" });
    await expect(stop("x\0y")).rejects.toMatchObject({ status: 400, details: { field: "service" } });
  });

  it("asks nothing of a service when the action can't be written down", async () => {
    await using t = await setup();
    const { client } = await open(t, "alpha");
    t.logs.expectLog({
      logger: "server.http",
      level: "error",
      message: "POST /api/services/:service/stop failed",
    });
    await t.database.query("ALTER TABLE tallyman.operator_action ADD CHECK (action <> 'service.stop')");
    await expect(client.call("POST /api/services/:service/stop", { params })).rejects.toMatchObject({
      status: 500,
    });
    expect((await t.database.query("SELECT FROM tallyman.service_request")).rowCount).toBe(0);
  });

  it("forgets a process that is lost, and no other", async () => {
    await using t = await setup();
    const { client, boards } = await open(t, "alpha");
    const managerId = boards[0]?.managerId ?? "";
    const forget = (id: string) =>
      client.call("DELETE /api/services/managers/:managerId", { params: { managerId: id } });
    await expect(forget(managerId)).rejects.toMatchObject({ status: 409, code: "SERVICE_WRONG_STATE" });
    const lostId = crypto.randomUUID();
    await expect(forget(lostId)).rejects.toMatchObject({ status: 404 });
    await expect(forget("me")).rejects.toMatchObject({ status: 400, details: { field: "managerId" } });
    await t.database.query(
      `INSERT INTO tallyman.service_manager (manager_id, name, hostname, pid, heartbeat_at, lost_after_ms)
       VALUES ($1, 'lost', 'host', 1, clock_timestamp() - interval '1 hour', 1000)`,
      [lostId],
    );
    expect(await forget(lostId)).toEqual({ managerId: lostId });
    expect(await client.call("GET /api/services")).toMatchObject([{ managerId, name: "alpha" }]);
  });
});
