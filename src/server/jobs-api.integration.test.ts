import { describe, expect, it } from "vitest";
import { expectRefusals, openServer } from "../../tests/kit/api.ts";
import { TallymanClient } from "../client/index.ts";
import { setup } from "../testing/index.ts";

const key = "nightly / bills 100% ü";
const params = { key };
const body = {
  key,
  schedule: { cron: "30 2 * * *", timeZone: "Europe/Berlin" },
  command: { domain: "billing", commandType: "CreateInvoices", data: { limit: 7, password: "secret" } },
};

describe("jobs over HTTP", () => {
  it("adds a job under any key, shows it, changes it and removes it", async () => {
    await using t = await setup();
    const { client, tallyman } = await openServer(t);
    const created = await client.call("POST /api/jobs", { body: { ...body, reason: "month's end" } });
    expect(created).toMatchObject({ key, status: "SCHEDULED", target: "COMMAND", schedule: body.schedule });
    expect(await client.call("GET /api/jobs/:key", { params })).toEqual(created);
    await expect(client.call("POST /api/jobs", { body })).rejects.toMatchObject({ code: "JOB_EXISTS" });

    const changed = await client.call("PATCH /api/jobs/:key", {
      params,
      body: { schedule: { everyMs: 60_000 }, maxFires: 3, endAt: "2100-01-01T00:00:00Z" },
    });
    expect(changed).toMatchObject({
      schedule: { everyMs: 60_000 },
      maxFires: 3,
      endAt: "2100-01-01T00:00:00.000Z",
    });
    expect(
      await client.call("PATCH /api/jobs/:key", { params, body: { maxFires: null, endAt: null } }),
    ).toMatchObject({ maxFires: null, endAt: null });
    const next = await client.call("GET /api/jobs/:key/next", { params, query: { count: 3 } });
    expect(next).toHaveLength(3);
    expect(Date.parse(next[1] ?? "") - Date.parse(next[0] ?? "")).toBe(60_000);

    expect(await client.call("DELETE /api/jobs/:key", { params, query: { reason: "done" } })).toEqual({
      key,
    });
    await expect(client.call("GET /api/jobs/:key", { params })).rejects.toMatchObject({ status: 404 });
    expect(await tallyman.scheduler.jobs.list()).toEqual([]);
    const { items } = await client.call("GET /api/actions");
    expect(items.map(({ action, reason }) => [action, reason])).toEqual([
      ["job.remove", "done"],
      ["job.update", null],
      ["job.update", null],
      ["job.create", "month's end"],
    ]);
    expect(JSON.stringify(items)).not.toContain("secret");
  });

  it("pauses, resumes and runs a job, and tells what became of it", async () => {
    await using t = await setup();
    const { client, tallyman } = await openServer(t);
    await client.call("POST /api/jobs", { body });
    expect(await client.call("POST /api/jobs/:key/pause", { params })).toMatchObject({ status: "PAUSED" });
    expect(await client.call("POST /api/jobs/:key/resume", { params })).toMatchObject({
      status: "SCHEDULED",
    });
    const run = (idempotencyKey: string) =>
      client.call("POST /api/jobs/:key/run", { params, idempotencyKey });
    const first = await run("once");
    expect(await run("once")).toEqual(first);
    await run("twice");
    expect(await tallyman.commands.listCommands("billing")).toHaveLength(2);
    const history = (query: { limit?: number; cursor?: string }) =>
      client.call("GET /api/jobs/:key/history", { params, query });
    const latest = await history({ limit: 1 });
    expect(latest.items).toMatchObject([{ outcome: "FIRED", isManual: true }]);
    const rest = await history({ cursor: latest.nextCursor ?? "" });
    expect(rest).toMatchObject({ items: [{ runId: first.runId }], nextCursor: null });
  });

  it("lists by status, page by page", async () => {
    await using t = await setup();
    const { client } = await openServer(t);
    for (const name of ["a", "b", "c"]) await client.call("POST /api/jobs", { body: { ...body, key: name } });
    await client.call("POST /api/jobs/:key/pause", { params: { key: "b" } });
    const list = async (query: { limit?: number; cursor?: string; status?: "PAUSED" | "SCHEDULED" }) => {
      const { items, nextCursor } = await client.call("GET /api/jobs", { query });
      return [items.map((job) => job.key).join(" "), nextCursor];
    };
    expect(await list({ limit: 2 })).toEqual(["a b", "b"]);
    expect(await list({ limit: 2, cursor: "b" })).toEqual(["c", null]);
    expect(await list({ status: "PAUSED" })).toEqual(["b", null]);
    expect(await list({ status: "SCHEDULED" })).toEqual(["a c", null]);
  });

  it("shows payloads to those who may see them, without secrets", async () => {
    await using t = await setup();
    const { client, tallyman, server } = await openServer(t);
    await client.call("POST /api/jobs", { body });
    const shown = await client.call("GET /api/jobs/:key/payload", { params });
    expect(shown).toMatchObject([
      { commandType: "CreateInvoices", data: { limit: 7, password: "[hidden]" } },
    ]);
    const { token } = await tallyman.tokens.create({
      name: "looker",
      role: "read",
      canViewPayloads: false,
      createdBy: "test",
    });
    const looker = new TallymanClient({ url: server.url, token });
    expect(await looker.call("GET /api/jobs/:key/payload", { params })).toMatchObject([{ data: "[hidden]" }]);
    await expect(looker.call("POST /api/jobs/:key/pause", { params })).rejects.toMatchObject({ status: 403 });
  });

  it("says what is wrong, with the field, and changes nothing", async () => {
    await using t = await setup();
    const { server, tallyman } = await openServer(t);
    const { schedule, ...unscheduled } = body;
    const long = "x".repeat(256);
    await expectRefusals(server, [
      ["GET /api/jobs/nothing", undefined, 404, "JOB_NOT_FOUND"],
      ["PATCH /api/jobs/nothing", {}, 404, "JOB_NOT_FOUND"],
      ["DELETE /api/jobs/nothing", undefined, 404, "JOB_NOT_FOUND"],
      ["POST /api/jobs/nothing/run", {}, 404, "JOB_NOT_FOUND"],
      ["GET /api/jobs/nothing/next", undefined, 404, "JOB_NOT_FOUND"],
      ["GET /api/jobs/nothing/history", undefined, 404, "JOB_NOT_FOUND"],
      ["GET /api/jobs/nothing/payload", undefined, 404, "JOB_NOT_FOUND"],
      ["POST /api/jobs", unscheduled, 400, "schedule"],
      ["POST /api/jobs", { ...unscheduled, schedule: {} }, 400, "schedule"],
      [
        "POST /api/jobs",
        { ...unscheduled, schedule: { everyMs: 1_000, cron: "* * * * *" } },
        400,
        "schedule",
      ],
      ["POST /api/jobs", { ...unscheduled, schedule: { at: "2016-12-31T23:59:60Z" } }, 400, "schedule.at"],
      [
        "POST /api/jobs",
        { ...unscheduled, schedule: { everyMs: 1_000, timeZone: "UTC" } },
        400,
        "schedule.timeZone",
      ],
      ["POST /api/jobs", { ...body, key: long }, 400, "key"],
      ["POST /api/jobs", { ...body, key: "a\0" }, 400, "key"],
      ["POST /api/jobs", { ...body, jitterMs: -1 }, 400, "jitterMs"],
      ["POST /api/jobs", { ...body, command: { domain: "d" } }, 400, "command.commandType"],
      ["GET /api/jobs?status=LATE", undefined, 400, "status"],
      [`GET /api/jobs/${long}`, undefined, 400, "key"],
      ["GET /api/jobs/a%00b", undefined, 400, "key"],
      ["GET /api/jobs/a/history?cursor=-271821-04-20T00:00:00.000Z", undefined, 400, "cursor"],
      ["GET /api/jobs/a/next?count=0", undefined, 400, "count"],
    ]);
    const send = async (given: object) => {
      const response = await fetch(`${server.url}/api/jobs`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(given),
      });
      return { status: response.status, body: await response.json() };
    };
    expect(await send({ ...unscheduled, schedule: { cron: "every day" } })).toMatchObject({
      status: 400,
      body: { error: { code: "JOB_INVALID" } },
    });
    expect(await send({ key: "a", schedule })).toMatchObject({
      status: 400,
      body: { error: { code: "JOB_INVALID" } },
    });
    expect(await send({ ...body, maxFires: 2 ** 31 })).toMatchObject({ status: 400 });
    expect(await tallyman.scheduler.jobs.list()).toEqual([]);
  });
});
