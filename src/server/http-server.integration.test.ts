import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { createServer as createNetServer } from "node:net";
import { describe, expect, it } from "vitest";
import { Tallyman } from "../app/index.ts";
import { sleep } from "../runtime/index.ts";
import { setup, type TestContext } from "../testing/index.ts";
import { createServer, type HttpServer } from "./index.ts";

interface Answer {
  readonly status: number;
  readonly body: {
    readonly success: boolean;
    readonly data?: unknown;
    readonly error?: Record<string, unknown>;
  };
}

/** Asks a server over a real socket. */
async function ask(server: HttpServer, request: string, init: RequestInit = {}): Promise<Answer> {
  const [method = "GET", path = "/"] = request.split(" ");
  const response = await fetch(`${server.url}${path}`, { method, ...init });
  return { status: response.status, body: (await response.json()) as Answer["body"] };
}

async function open(t: TestContext, options: { coordinatorId?: string } = {}) {
  const tallyman = t.use(await Tallyman.connect({ database: t.url }));
  const server = t.use(createServer(tallyman, { port: 0 }));
  await server.start();
  if (options.coordinatorId === undefined) return { tallyman, server };
  const { coordinatorId } = options;
  const coordinator = tallyman.scheduler.coordinator({
    coordinatorId,
    port: server.port,
    joinDelayMs: 0,
    leaseMs: 600_000,
    renewMs: 150_000,
  });
  await coordinator.start();
  return { tallyman, server, coordinator };
}

async function openLeader(t: TestContext, coordinatorId = "coordinator-1") {
  const opened = await open(t, { coordinatorId });
  while (!opened.coordinator?.term) await sleep(10);
  return opened;
}

describe("HTTP API of the coordinator", () => {
  it("registers, assigns, answers and releases as documented", async () => {
    await using t = await setup();
    const { server } = await openLeader(t);

    const registered = await ask(server, "POST /api/scheduler-workers/register?workerId=worker-1");
    expect(registered).toMatchObject({
      status: 200,
      body: { success: true, data: { workerId: "worker-1", status: "ONLINE", assignedSegments: [] } },
    });
    const first = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
    const assigned = await ask(server, "POST /api/segments/assign?workerId=worker-1&desiredSegments=10");
    expect(assigned.body).toEqual({ success: true, data: { workerId: "worker-1", segments: first } });
    expect((await ask(server, "GET /api/segments?workerId=worker-1")).body).toEqual({
      success: true,
      data: { workerId: "worker-1", segments: first },
    });
    const beat = await ask(server, "POST /api/scheduler-workers/heartbeat?workerId=worker-1");
    expect(beat.body.data).toMatchObject({ status: "ONLINE", assigned: { length: 10 }, revoking: [] });
    const listed = await ask(server, "GET /api/scheduler-workers");
    expect(listed.body.data).toMatchObject([{ workerId: "worker-1", cap: 10, assignedSegments: first }]);

    const map = (await ask(server, "GET /api/segments")).body.data as { segments: object[] };
    expect(map).toMatchObject({ segmentCount: 100, segments: { length: 100 } });
    expect(map.segments[0]).toMatchObject({ segmentId: 0, workerId: "worker-1", status: "ASSIGNED" });
    expect(map.segments[99]).toMatchObject({ workerId: null, assignedAt: null, status: "AVAILABLE" });

    const released = await ask(server, "DELETE /api/segments/release?workerId=worker-1");
    expect(released.body.data).toEqual({ workerId: "worker-1", released: first });
    expect((await ask(server, "GET /api/segments?workerId=worker-1")).body.data).toMatchObject({
      segments: [],
    });
    const drained = await ask(server, "POST /api/scheduler-workers/drain?workerId=worker-1");
    expect(drained.body.data).toMatchObject({ status: "DRAINING" });
  });

  it("tells who leads, the same everywhere; a follower forwards requests for segments", async () => {
    await using t = await setup();
    const { server: leader } = await openLeader(t);
    const { server: follower } = await open(t, { coordinatorId: "coordinator-2" });
    const answers = await Promise.all(
      [leader, follower].map((server) => ask(server, "GET /api/coordinator/leader")),
    );
    expect(answers[0]?.body.data).toMatchObject({ coordinatorId: "coordinator-1", isLeader: true, epoch: 1 });
    expect(answers[1]).toEqual(answers[0]);

    await ask(follower, "POST /api/scheduler-workers/register?workerId=w");
    const assigned = await ask(follower, "POST /api/segments/assign?workerId=w&desiredSegments=3");
    expect(assigned).toEqual({
      status: 200,
      body: { success: true, data: { workerId: "w", segments: [0, 1, 2] } },
    });
    const unknown = await ask(follower, "POST /api/segments/assign?workerId=nobody&desiredSegments=3");
    expect(unknown).toMatchObject({
      status: 404,
      body: { success: false, error: { code: "SCHEDULER_WORKER_NOT_FOUND" } },
    });
    const list = await ask(leader, "GET /api/coordinators");
    expect(list.body.data).toMatchObject([
      { coordinatorId: "coordinator-1", isLeader: true },
      { coordinatorId: "coordinator-2", isLeader: false, electedAt: null },
    ]);
  });

  it("answers 503 when nobody leads, and never forwards twice", async () => {
    await using t = await setup();
    const { server } = await open(t);
    const noLeader = { status: 503, body: { success: false, error: { code: "SCHEDULER_NO_LEADER" } } };
    await ask(server, "POST /api/scheduler-workers/register?workerId=w");
    const assign = "POST /api/segments/assign?workerId=w&desiredSegments=3";
    expect(await ask(server, assign)).toMatchObject(noLeader);
    expect(await ask(server, "GET /api/coordinator/leader")).toMatchObject(noLeader);

    // The lease says that this very server leads, which it does not: a loop, unless somebody stops it.
    await t.database.query(
      `UPDATE tallyman.scheduler_leader_lease SET holder = gen_random_uuid(), coordinator_id = 'ghost', host = '127.0.0.1',
         port = $1, elected_at = clock_timestamp(), expires_at = clock_timestamp() + interval '1 min'`,
      [server.port],
    );
    expect(await ask(server, assign)).toMatchObject(noLeader);
    await t.database.query("UPDATE tallyman.scheduler_leader_lease SET port = 1");
    expect(await ask(server, assign)).toMatchObject(noLeader);
  });

  it("keeps the register of coordinators apart from leadership", async () => {
    await using t = await setup();
    const { server } = await openLeader(t);
    const lease = () =>
      t.database.query("SELECT expires_at, epoch, holder FROM tallyman.scheduler_leader_lease");
    const register = (port: number, coordinatorId = "other") =>
      ask(server, "POST /api/coordinator/register", {
        body: JSON.stringify({ coordinatorId, host: "localhost", port }),
        headers: { "content-type": "application/json" },
      });
    expect(await register(8099)).toMatchObject({
      status: 200,
      body: { data: { isLeader: false, port: 8099 } },
    });
    expect(await register(8099)).toMatchObject({ status: 200 });
    expect(await register(1, "coordinator-1")).toMatchObject({
      status: 409,
      body: { error: { code: "SCHEDULER_COORDINATOR_REPLACED" } },
    });
    await t.database.query("UPDATE tallyman.scheduler_leader_lease SET expires_at = '2030-01-01'");
    const before = await lease();
    const beat = await ask(server, "POST /api/coordinator/heartbeat?coordinatorId=coordinator-1");
    expect(beat.body.data).toMatchObject({ coordinatorId: "coordinator-1", isLeader: true });
    expect(await lease()).toEqual(before);
    expect(await ask(server, "POST /api/coordinator/heartbeat?coordinatorId=nobody")).toMatchObject({
      status: 404,
    });
  });

  it("answers bad and missing parameters with 400 and the field", async () => {
    await using t = await setup();
    const { server } = await open(t);
    const assign = "POST /api/segments/assign";
    const register = "POST /api/scheduler-workers/register";
    for (const [request, field, reason] of [
      [register, "workerId", "missing"],
      [`${register}?workerId=`, "workerId", "pattern"],
      [`${register}?workerid=a&workerId=b`, "workerid", "Did you mean 'workerId'"],
      [`${register}?workerId=a&workerId=b`, "workerId", "string"],
      [`${assign}?workerId=w&desiredSegments=ten`, "desiredSegments", "integer"],
      [`${assign}?workerId=w&desiredSegments=-1`, "desiredSegments", ">= 0"],
      [`${assign}?workerId=w&desiredSegments=1025`, "desiredSegments", "<= 1024"],
      [`${assign}?workerId=w`, "desiredSegments", "missing"],
      ["DELETE /api/segments/release", "workerId", "missing"],
      ["POST /api/coordinator/heartbeat", "coordinatorId", "missing"],
    ] as const) {
      const answer = await ask(server, request);
      expect(answer).toMatchObject({
        status: 400,
        body: { success: false, error: { code: "REQUEST_INVALID", details: { field } } },
      });
      expect(answer.body.error?.message).toContain(reason);
    }
  });

  it("answers what is unknown, too large or no JSON in the envelope", async () => {
    await using t = await setup();
    const { server } = await open(t);
    const json = { "content-type": "application/json" };
    expect(await ask(server, "GET /api/nothing")).toMatchObject({
      status: 404,
      body: { success: false, error: { code: "ROUTE_NOT_FOUND", details: { path: "/api/nothing" } } },
    });
    expect(await ask(server, "POST /api/scheduler-workers/heartbeat?workerId=nobody")).toMatchObject({
      status: 404,
      body: { error: { code: "SCHEDULER_WORKER_NOT_FOUND", details: { workerId: "nobody" } } },
    });
    const register = "POST /api/coordinator/register";
    expect(await ask(server, register, { body: "{", headers: json })).toMatchObject({
      status: 400,
      body: { error: { code: "REQUEST_INVALID" } },
    });
    expect(await ask(server, register, { body: `"${"x".repeat(1_100_000)}"`, headers: json })).toMatchObject({
      status: 413,
      body: { error: { code: "REQUEST_TOO_LARGE" } },
    });
  });

  it("refuses pages of other sites", async () => {
    await using t = await setup();
    const { server } = await open(t);
    const register = "POST /api/scheduler-workers/register?workerId=w";
    const from = (origin: string) => ask(server, register, { headers: { origin } });
    expect(await from("https://evil.example")).toMatchObject({
      status: 403,
      body: { error: { code: "REQUEST_FORBIDDEN" } },
    });
    expect((await from(server.url)).status).toBe(200);
    // A name of theirs that they made point to this machine.
    const rebound = request({ port: server.port, method: "POST", headers: { host: "evil.example" } }).end();
    const [response] = (await once(rebound, "response")) as [IncomingMessage];
    response.resume();
    expect(response.statusCode).toBe(403);
  });

  it("takes pages of the proxy before it for its own, and asks everybody for a token then", async () => {
    await using t = await setup();
    const tallyman = t.use(await Tallyman.connect({ database: t.url }));
    const publicUrl = "https://tallyman.example";
    const server = t.use(createServer(tallyman, { port: 0, publicUrl }));
    await expect(server.start()).rejects.toMatchObject({ code: "PUBLIC_BIND_REFUSED" });
    const { token } = await tallyman.tokens.create({ name: "ops", role: "admin", createdBy: "test" });
    const proxied = t.use(createServer(tallyman, { port: 0, publicUrl }));
    await proxied.start();
    const from = async (host: string, headers: Record<string, string>) => {
      const path = "/api/overview";
      const sent = request({ port: proxied.port, path, headers: { host, ...headers } }).end();
      const [response] = (await once(sent, "response")) as [IncomingMessage];
      response.resume();
      return response.statusCode;
    };
    const authorization = `Bearer ${token}`;
    for (const host of ["tallyman.example", "127.0.0.1"])
      expect(await from(host, { authorization, origin: publicUrl })).toBe(200);
    expect(await from("tallyman.example", {})).toBe(401);
    expect(await from("tallyman.example", { authorization, origin: "https://evil.example" })).toBe(403);
    expect(await from("evil.example", { authorization })).toBe(403);
    expect(() => createServer(tallyman, { publicUrl: "tallyman.example" })).toThrow(
      "https://tallyman.example",
    );
  });

  it("serves health, readiness and metrics", async () => {
    await using t = await setup();
    const { server, tallyman, coordinator } = await openLeader(t);
    if (coordinator) tallyman.metrics.register("service", "coordinator", coordinator);
    expect(await ask(server, "GET /healthz")).toMatchObject({
      status: 200,
      body: { data: { status: "ok" } },
    });
    expect(await ask(server, "GET /readyz")).toMatchObject({ status: 200 });
    const metrics = await fetch(`${server.url}/metrics`);
    expect(metrics.headers.get("content-type")).toContain("text/plain");
    expect(await metrics.text()).toContain(
      'tallyman_scheduler_is_leader{kind="service",name="coordinator"} 1',
    );
  });

  it("is not ready without its database, and says why", async () => {
    await using t = await setup();
    const { server, tallyman } = await open(t);
    await tallyman.database.close();
    const answer = await ask(server, "GET /readyz");
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.body.success).toBe(false);
    expect((await ask(server, "GET /healthz")).status).toBe(200);
  });

  it("listens on loopback only, and says when its port is taken", async () => {
    await using t = await setup();
    const tallyman = t.use(await Tallyman.connect({ database: t.url }));
    for (const host of ["0.0.0.0", "::", "192.168.1.5", "example.com", "127.evil.example"])
      await expect(createServer(tallyman, { host }).start()).rejects.toMatchObject({
        code: "PUBLIC_BIND_REFUSED",
      });
    const taken = createNetServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => taken.once("listening", resolve));
    const { port } = taken.address() as { port: number };
    const server = t.use(createServer(tallyman, { port }));
    await expect(server.start()).rejects.toMatchObject({ code: "PORT_TAKEN" });
    taken.close();
  });
});
