import { describe, expect, it } from "vitest";
import { Tallyman } from "../app/index.ts";
import { TallymanClient } from "../client/index.ts";
import { PermanentError } from "../commands/index.ts";
import { setup, type TestContext } from "../testing/index.ts";
import { createServer } from "./index.ts";

const domain = "orders";
const patient = { timeout: 20_000 };

/** Hundreds of calls at once take their time: each waits for a connection, and for its answer. */
async function open(t: TestContext) {
  const database = { url: t.url, acquireTimeoutMs: 50_000 };
  const tallyman = t.use(await Tallyman.connect({ database }));
  const server = t.use(createServer(tallyman, { port: 0 }));
  await server.start();
  return { tallyman, server, client: new TallymanClient({ url: server.url, timeoutMs: 50_000 }) };
}

/** A worker that fails every command whose data says so. */
async function work(t: TestContext, tallyman: Tallyman) {
  const worker = t.use(tallyman.commands.worker({ domain, pollIntervalMs: 50 }));
  worker.handle("Ship", ({ data }) => {
    if ((data as { fail?: boolean }).fail) throw new PermanentError("the gateway is down");
    return { shipped: true };
  });
  await worker.start();
}

describe("the command bus over HTTP", () => {
  it("creates a batch, shows its troubles, repairs them, and writes down who did", async () => {
    await using t = await setup();
    const { tallyman, client } = await open(t);
    const commands = Array.from({ length: 10 }, (_, i) => ({ commandType: "Ship", data: { fail: i < 3 } }));
    const { batchId } = await client.call("POST /api/domains/:domain/batches", {
      params: { domain },
      body: { name: "Evening", commands },
    });
    await work(t, tallyman);
    await expect
      .poll(() => client.call("GET /api/batches/:batchId", { params: { batchId } }), patient)
      .toMatchObject({ completedCount: 7, inTroubleshootingCount: 3, status: "IN_PROGRESS" });
    const groups = await client.call("GET /api/tsq/groups", { query: { batchId } });
    expect(groups).toMatchObject([{ domain, commandType: "Ship", count: 3 }]);
    expect(await client.call("GET /api/tsq/preview", { query: { batchId } })).toEqual({ matched: 3 });
    const done = await client.call("POST /api/tsq/complete", {
      body: { matching: { batchId }, reason: "shipped by hand" },
    });
    expect(done).toEqual({ changed: 3, remaining: 0 });
    expect(await client.call("GET /api/batches/:batchId", { params: { batchId } })).toMatchObject({
      status: "COMPLETED",
    });
    const { items } = await client.call("GET /api/actions");
    expect(items).toMatchObject([
      {
        actor: "local",
        action: "tsq.complete",
        changed: 3,
        reason: "shipped by hand",
        target: { matching: { batchId } },
      },
      { actor: "local", action: "batch.create", changed: 10, target: { domain, batchId } },
    ]);
  });

  it.each(["", "x".repeat(256)])("refuses an Idempotency-Key that is empty or too long", async (key) => {
    await using t = await setup();
    const { server } = await open(t);
    const response = await fetch(`${server.url}/api/domains/${domain}/batches`, {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": key },
      body: JSON.stringify({ commands: [{ commandType: "Ship", data: {} }] }),
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { details: { field: "Idempotency-Key" } } });
  });

  it("creates once under an Idempotency-Key, however often it is asked", async () => {
    await using t = await setup();
    const { client, tallyman } = await open(t);
    const send = (data: object) =>
      client.call("POST /api/domains/:domain/commands", {
        params: { domain },
        body: { commandType: "Ship", data },
        idempotencyKey: "key-1",
      });
    const answers = await Promise.all([send({ n: 1 }), send({ n: 1 }), send({ n: 1 })]);
    expect(new Set(answers.map(({ commandId }) => commandId)).size).toBe(1);
    await expect(send({ n: 2 })).rejects.toMatchObject({ status: 422, code: "IDEMPOTENCY_KEY_REUSED" });
    expect(await tallyman.commands.listCommands(domain)).toHaveLength(1);
  });

  it("leaves neither action nor effect when one of them fails", async () => {
    await using t = await setup();
    const { client, tallyman } = await open(t);
    t.logs.expectLog({
      logger: "server.http",
      level: "error",
      message: "POST /api/domains/:domain/commands failed",
    });
    await t.database.query("ALTER TABLE tallyman.operator_action ADD CHECK (action <> 'command.send')");
    const send = client.call("POST /api/domains/:domain/commands", {
      params: { domain },
      body: { commandType: "Ship", data: {} },
    });
    await expect(send).rejects.toMatchObject({ status: 500 });
    expect(await tallyman.commands.listCommands(domain)).toEqual([]);
  });

  it("cancels what waits: one command, and a batch with a preview", async () => {
    await using t = await setup();
    const { client } = await open(t);
    const { batchId } = await client.call("POST /api/domains/:domain/batches/import", {
      params: { domain },
      query: { name: "From a file" },
      body: Array.from({ length: 250 }, (_, i) => ({ commandType: "Ship", data: { i } })),
    });
    const first = await client.call("GET /api/batches/:batchId/commands", {
      params: { batchId },
      query: { limit: 2 },
    });
    const [command, second] = first.items;
    expect(first.nextCursor).toBe(second?.commandId);
    const one = { domain, commandId: command?.commandId ?? "" };
    await client.call("POST /api/domains/:domain/commands/:commandId/cancel", { params: one });
    expect(await client.call("GET /api/domains/:domain/commands/:commandId", { params: one })).toMatchObject({
      status: "CANCELED",
    });
    await expect(
      client.call("POST /api/domains/:domain/commands/:commandId/cancel", { params: one }),
    ).rejects.toMatchObject({ status: 409 });
    expect(await client.call("GET /api/batches/:batchId/cancel", { params: { batchId } })).toEqual({
      matched: 249,
    });
    expect(await client.call("POST /api/batches/:batchId/cancel", { params: { batchId } })).toEqual({
      batchId,
      canceled: 249,
    });
    expect(await client.call("GET /api/batches/:batchId", { params: { batchId } })).toMatchObject({
      status: "COMPLETED_WITH_FAILURES",
      canceledCount: 250,
    });
    const history = await client.call("GET /api/domains/:domain/commands/:commandId/history", {
      params: one,
    });
    expect(history.map(({ eventType }) => eventType)).toEqual(["SENT", "OPERATOR_CANCEL"]);
  });

  it("cancels each command once or not at all while a worker takes them from the same block", async () => {
    await using t = await setup();
    const { client, tallyman } = await open(t);
    const { commands } = tallyman;
    const batchId = await commands.createBatch(
      domain,
      Array.from({ length: 200 }, () => ({ commandType: "Ship", data: {} })),
    );
    const all = await commands.listBatchCommands(domain, batchId, { limit: 200 });
    const cancel = ({ commandId }: { commandId: string }) =>
      client
        .call("POST /api/domains/:domain/commands/:commandId/cancel", { params: { domain, commandId } })
        .then(
          () => 1,
          ({ status }: { status: number }) => {
            expect(status).toBe(409);
            return 0;
          },
        );
    const early = await Promise.all(all.slice(0, 20).map(cancel));
    expect(early).toEqual(Array(20).fill(1));
    const [late] = await Promise.all([Promise.all(all.slice(20).map(cancel)), work(t, tallyman)]);
    const batch = await commands.waitForBatch(domain, batchId);
    const canceled = [...early, ...late].filter((each) => each === 1).length;
    expect(batch).toMatchObject({ canceledCount: canceled, completedCount: 200 - canceled });
    expect((await commands.recount()).miscounts).toEqual([]);
  });

  it("needs no body where there is nothing to say", async () => {
    await using t = await setup();
    const { server } = await open(t);
    const response = await fetch(`${server.url}/api/domains/${domain}/pause`, { method: "POST" });
    expect(response.status).toBe(200);
    const retry = await fetch(`${server.url}/api/tsq/retry`, { method: "POST" });
    expect(retry.status).toBe(400);
  });

  it("pages through troubles of all domains, also when one id is in two of them", async () => {
    await using t = await setup();
    const { tallyman, client } = await open(t);
    const commandId = "01900000-0000-7000-8000-000000000001";
    for (const own of ["billing", "shipping"]) {
      for (const id of [commandId, undefined])
        await tallyman.commands.send(own, "Ship", { ...(id && { commandId: id }), data: {} });
      const worker = t.use(tallyman.commands.worker({ domain: own, pollIntervalMs: 50, handlers: {} }));
      await worker.start();
    }
    await expect.poll(() => tallyman.commands.tsq.count(), patient).toBe(4);
    const seen: string[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const query = { limit: 1, ...(cursor !== undefined && { cursor }) };
      const page = await client.call("GET /api/tsq", { query });
      seen.push(...page.items.map((item) => `${item.domain} ${item.commandId}`));
      cursor = page.nextCursor;
    }
    expect(new Set(seen).size).toBe(4);
    const once = await client.call("POST /api/tsq/cancel", { body: { matching: {}, limit: 3 } });
    expect(once).toEqual({ changed: 3, remaining: 1 });
  });

  it("says what is wrong with a line of an import, and changes nothing", async () => {
    await using t = await setup();
    const { server, tallyman } = await open(t);
    const send = async (body: string) => {
      const response = await fetch(`${server.url}/api/domains/${domain}/batches/import`, {
        method: "POST",
        headers: { "content-type": "application/x-ndjson" },
        body,
      });
      return { status: response.status, body: await response.json() };
    };
    const good = JSON.stringify({ commandType: "Ship", data: {} });
    expect(await send(`${good}\n{oops`)).toMatchObject({
      status: 400,
      body: { error: { code: "REQUEST_INVALID", message: expect.stringContaining("Line 2") } },
    });
    expect(await send(`${good}\n{"data":{}}`)).toMatchObject({
      status: 400,
      body: { error: { code: "REQUEST_INVALID", message: "Item 2: Field 'commandType' is missing." } },
    });
    expect(await send(`${good}\n\n{"commandType":"Ship","data":{},"prio":1}`)).toMatchObject({
      body: { error: { message: expect.stringMatching(/^Item 2: Field 'prio' is unknown\. .*priority/) } },
    });
    expect(await tallyman.commands.listAllBatches()).toEqual([]);
    expect(await send(`${good}\n\n${good}\n`)).toMatchObject({
      status: 200,
      body: { data: { totalCount: 2 } },
    });
  });

  it("shows domains with backlog and rates, and the whole at a glance", async () => {
    await using t = await setup();
    const { client, tallyman } = await open(t);
    await tallyman.commands.sendMany(domain, [
      { commandType: "Ship", data: { fail: true } },
      { commandType: "Ship", data: {} },
    ]);
    await tallyman.commands.send("other", "Later", { data: {}, runAt: new Date(Date.now() + 60_000) });
    await client.call("POST /api/domains/:domain/pause", { params: { domain: "other" } });
    await work(t, tallyman);
    await expect
      .poll(() => client.call("GET /api/domains"), patient)
      .toMatchObject([
        { domain, isPaused: false, ready: 0, inTroubleshooting: 1, completedPerSecond: 0.02 },
        { domain: "other", isPaused: true, waiting: 1 },
      ]);
    expect(await client.call("GET /api/overview")).toMatchObject({
      commands: { inTroubleshooting: 1, waiting: 1, pausedDomains: ["other"] },
      scheduler: { leader: null },
      attention: [
        { severity: "warning", text: "1 command in troubleshooting", link: "/troubleshooting" },
        { severity: "warning", text: "Paused: other" },
      ],
    });
  });
});
