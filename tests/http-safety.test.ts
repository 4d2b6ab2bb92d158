import { connect, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { Tallyman } from "../src/app/index.ts";
import { TallymanClient } from "../src/client/index.ts";
import { configureLogging, type LogRecord } from "../src/runtime/index.ts";
import { setup } from "../src/testing/index.ts";
import { createTokens, openServer } from "./kit/http.ts";

const json = { "content-type": "application/json" };

describe("log-in", () => {
  it("turns a token into a cookie that scripts can't read, and a log-out ends it", async () => {
    await using t = await setup();
    const { server, tallyman } = await openServer(t);
    const { operate } = await createTokens(tallyman);
    const session = (headers: Record<string, string>) =>
      fetch(`${server.url}/api/session`, { headers }).then((response) => response.json());
    expect(await session({})).toMatchObject({ data: { isRequired: true, actor: null, role: null } });
    const logIn = (token: string) =>
      fetch(`${server.url}/api/session`, { method: "POST", headers: json, body: JSON.stringify({ token }) });
    expect((await logIn("tm_nonsense")).status).toBe(401);

    const response = await logIn(operate);
    const cookie = response.headers.get("set-cookie") ?? "";
    expect(cookie).toContain("HttpOnly");
    expect(cookie).toContain("SameSite=Strict");
    expect(cookie).not.toContain(operate);
    const [pair = ""] = cookie.split(";");
    expect(await session({ cookie: pair })).toMatchObject({ data: { actor: "operate", role: "operate" } });
    const pause = (headers: Record<string, string>) =>
      fetch(`${server.url}/api/domains/orders/pause`, {
        method: "POST",
        headers: { ...json, ...headers },
        body: "{}",
      });
    expect((await pause({ cookie: pair })).status).toBe(200);
    expect((await pause({ cookie: pair, origin: "https://evil.example" })).status).toBe(403);
    expect((await pause({ cookie: pair, origin: server.url })).status).toBe(200);
    expect((await logIn(decodeURIComponent(pair.split("=")[1] ?? ""))).status).toBe(409);

    const out = await fetch(`${server.url}/api/session`, { method: "DELETE", headers: { cookie: pair } });
    expect(out.headers.get("set-cookie")).toContain("Max-Age=0");
    await expect.poll(async () => (await pause({ cookie: pair })).status).toBe(401);
  });

  it("ends with its token: revoked or expired", async () => {
    await using t = await setup();
    const { server, tallyman } = await openServer(t);
    const { admin } = await createTokens(tallyman);
    const client = new TallymanClient({ url: server.url, token: admin });
    const { tokenId, token } = await client.call("POST /api/tokens", {
      body: { name: "guest", role: "read", canViewPayloads: false },
    });
    const guest = new TallymanClient({ url: server.url, token });
    const session = await tallyman.tokens.openSession(
      (await tallyman.tokens.authenticate(token)) ?? expect.fail("no caller"),
    );
    const withSession = new TallymanClient({ url: server.url, token: session });
    await guest.call("GET /api/overview");
    await withSession.call("GET /api/overview");
    await client.call("POST /api/tokens/:tokenId/revoke", { params: { tokenId }, body: { reason: "left" } });
    const status = (who: TallymanClient) =>
      who.call("GET /api/overview").then(
        () => 200,
        (error: { status: number }) => error.status,
      );
    await expect.poll(() => status(guest)).toBe(401);
    await expect.poll(() => status(withSession)).toBe(401);
    await expect(
      client.call("POST /api/tokens/:tokenId/revoke", { params: { tokenId } }),
    ).rejects.toMatchObject({ status: 404 });

    await t.database.query(
      "UPDATE tallyman.access_token SET expires_at = clock_timestamp() WHERE name = 'admin'",
    );
    await expect.poll(() => status(client)).toBe(401);
    const { rows } = await t.database.query(
      "SELECT action, reason FROM tallyman.operator_action ORDER BY action",
    );
    expect(rows).toEqual([
      { action: "token.create", reason: null },
      { action: "token.revoke", reason: "left" },
    ]);
  });

  it("is still asked for when the last token has expired; the way in is a new one", async () => {
    await using t = await setup();
    const tallyman = t.use(await Tallyman.connect({ database: t.url }));
    await tallyman.tokens.create({ name: "short", role: "admin", expiresInMs: 1, createdBy: "test" });
    const { server } = await openServer(t);
    expect((await fetch(`${server.url}/api/tokens`)).status).toBe(401);
    const { token } = await tallyman.tokens.create({ name: "new", role: "admin", createdBy: "test" });
    const client = new TallymanClient({ url: server.url, token });
    expect(await client.call("GET /api/tokens")).toHaveLength(2);
  });

  it("is asked of everybody where other machines reach the server", async () => {
    await using t = await setup();
    const { tallyman } = await openServer(t);
    await createTokens(tallyman);
    const { server } = await openServer(t, { host: "0.0.0.0" });
    const url = `http://127.0.0.1:${server.port}`;
    await t.database.query("UPDATE tallyman.access_token SET revoked_at = clock_timestamp()");
    await expect.poll(async () => (await fetch(`${url}/api/overview`)).status).toBe(401);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
  });
});

describe("payloads", () => {
  it("are hidden from those who may not see them, and fields from everybody", async () => {
    await using t = await setup();
    const { server, tallyman } = await openServer(t, { redactedFields: ["iban"] });
    const commandId = await tallyman.commands.send("pay", "Pay", {
      data: { iban: "DE00", amount: 5, nested: [{ password: "p", note: "n" }] },
    });
    const create = async (canViewPayloads: boolean) =>
      (await tallyman.tokens.create({ name: "x", role: "read", canViewPayloads, createdBy: "test" })).token;
    const read = async (token: string) =>
      new TallymanClient({ url: server.url, token }).call("GET /api/domains/:domain/commands/:commandId", {
        params: { domain: "pay", commandId },
      });
    expect((await read(await create(false))).data).toBe("[hidden]");
    expect((await read(await create(true))).data).toEqual({
      iban: "[hidden]",
      amount: 5,
      nested: [{ password: "[hidden]", note: "n" }],
    });
  });

  it("stay hidden from whoever may not see them, also by a token that they make", async () => {
    await using t = await setup();
    const { server, tallyman } = await openServer(t);
    const { token } = await tallyman.tokens.create({
      name: "blind",
      role: "admin",
      canViewPayloads: false,
      createdBy: "test",
    });
    const client = new TallymanClient({ url: server.url, token });
    const make = (body: object) =>
      client.call("POST /api/tokens", { body: { name: "x", role: "read", ...body } });
    await expect(make({ canViewPayloads: true })).rejects.toMatchObject({ code: "ROLE_INSUFFICIENT" });
    const made = await make({});
    expect(await tallyman.tokens.authenticate(made.token)).toMatchObject({ canViewPayloads: false });
  });
});

describe("limits", () => {
  it("are told to a request that never becomes whole, in the form of every failure", async () => {
    await using t = await setup();
    const { server } = await openServer(t, { requestTimeoutMs: 300, headersTimeoutMs: 300 });
    const socket = connect(server.port, "127.0.0.1").setEncoding("utf8");
    socket.write(
      "POST /api/tsq/retry HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
    );
    let answer = "";
    for await (const chunk of socket) answer += chunk;
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(JSON.parse(answer.split("\r\n\r\n")[1] ?? "")).toMatchObject({
      success: false,
      error: { code: "REQUEST_TIMED_OUT" },
    });
  });

  it("cut slow sockets while health still answers", async () => {
    await using t = await setup();
    const { server } = await openServer(t, { headersTimeoutMs: 500, requestTimeoutMs: 1_000 });
    const sockets: Socket[] = [];
    let closed = 0;
    for (let n = 0; n < 500; n++) {
      const socket = connect(server.port, "127.0.0.1");
      const isBody = n % 2 === 0;
      socket.write(
        isBody
          ? "POST /api/tsq/retry HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
          : "GET /healthz HTTP/1.1\r\nHost:",
      );
      socket.on("close", () => closed++);
      socket.on("error", () => undefined);
      socket.resume();
      sockets.push(socket);
    }
    for (let n = 0; n < 20; n++) expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    await expect.poll(() => closed, { timeout: 60_000 }).toBe(500);
    expect(sockets).toHaveLength(500);
  });

  it("refuse too many requests of one address, and say when to come again", async () => {
    await using t = await setup();
    const { server } = await openServer(t, { requestsPerSecondMax: 1 });
    const statuses = await Promise.all(
      Array.from({ length: 20 }, () => fetch(`${server.url}/healthz`).then(({ status }) => status)),
    );
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(10);
    await expect.poll(async () => (await fetch(`${server.url}/healthz`)).status).toBe(200);
  });

  it("are told for headers and imports", async () => {
    await using t = await setup();
    const { server } = await openServer(t, { importBytesMax: 1_000 });
    const headers = { "content-type": "application/x-ndjson" };
    const tooLong = await fetch(`${server.url}/api/domains/d/batches/import`, {
      method: "POST",
      headers,
      body: `${JSON.stringify({ commandType: "A", data: "x".repeat(2_000) })}\n`,
    });
    expect(tooLong.status).toBe(413);
    const large = await fetch(`${server.url}/healthz`, { headers: { "x-large": "x".repeat(20_000) } });
    expect(large.status).toBe(431);
  });
});

describe("secrets", () => {
  it("are in no log, error, metric or document", async () => {
    await using t = await setup();
    const canary = "canary-6f1d0f5e";
    const secretLetters = 43;
    const records: LogRecord[] = [];
    configureLogging({ level: "debug", sink: (record) => records.push(record) });
    const { server, tallyman } = await openServer(t);
    const { read, admin } = await createTokens(tallyman);
    const seen: string[] = [];
    const look = async (path: string, init: RequestInit = {}) => {
      const response = await fetch(`${server.url}${path}`, init);
      seen.push(await response.text(), JSON.stringify([...response.headers]));
    };
    const authorization = `Bearer ${read}`;
    await look("/api/session", { method: "POST", headers: json, body: JSON.stringify({ token: canary }) });
    await look("/api/overview", { headers: { authorization: `Bearer ${canary}` } });
    await look("/api/tsq/retry", {
      method: "POST",
      headers: { authorization, ...json },
      body: `{"x":1`,
    });
    for (const path of ["/metrics", "/api/actions", "/api/overview", "/openapi.json", "/readyz"])
      await look(path, { headers: { authorization } });
    await look("/api/tokens", { headers: { authorization: `Bearer ${admin}` } });
    const everything = seen.join("\n") + JSON.stringify(records);
    for (const secret of [canary, read, admin, read.slice(-secretLetters), t.url])
      expect(everything).not.toContain(secret);
  });
});
