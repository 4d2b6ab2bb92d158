import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { setup, type TestContext } from "../src/testing/index.ts";
import { startChild } from "./kit/children.ts";
import { commandLine, flagsTo, places, runHere } from "./kit/cli.ts";

const main = new URL("../src/cli/main.ts", import.meta.url);
const nobody = "http://127.0.0.1:1";

afterEach(() => vi.unstubAllEnvs());

/** `tallyman up` as a process of its own, and the address that it prints. */
async function up(t: TestContext, ...args: string[]) {
  const child = t.use(startChild(main, { args: ["up", ...args], env: { DATABASE_URL: t.url } }));
  const line = await child.line("Serving ");
  return { child, line, url: /http:\S+\d/.exec(line)?.[0] ?? "" };
}

describe.each(places)("domains, by way of %s", (place) => {
  it("are listed, paused and resumed", async () => {
    await using t = await setup();
    const { run, json } = commandLine(await flagsTo(place, t));
    expect((await run("domain", "list")).text).toBe("No domain has anything to do.");
    await json("send", "Ship", "--domain", "orders", "--data", "{}");
    expect((await run("domain", "pause", "orders", "--reason", "stock-taking")).text).toBe(
      "orders is paused.",
    );
    expect((await run("domain", "list")).text).toMatch(/orders +paused +1 +0 +0 +0/);
    expect(await json("domain", "resume", "orders")).toEqual({ domain: "orders", isPaused: false });
    expect(await json("audit", "--action", "domain")).toMatchObject([
      { action: "domain.resume" },
      { action: "domain.pause", reason: "stock-taking" },
    ]);
  });
});

describe.each(places)("access tokens, by way of %s", (place) => {
  it("are made, used, listed and revoked, each with its row in the audit", async () => {
    await using t = await setup();
    const flags = await flagsTo(place, t);
    const { run, json } = commandLine(flags);
    expect((await run("token", "list")).text).toBe("There are no access tokens.");
    const admin = await json("token", "create", "--name", "mia", "--role", "admin", "--expires", "30d");
    expect(admin).toMatchObject({ name: "mia", role: "admin", canViewPayloads: true });
    vi.stubEnv("TALLYMAN_TOKEN", admin.token);
    const reader = await json("token", "create", "--name", "grafana", "--role", "read", "--no-payloads");
    expect(await json("token", "list")).toMatchObject([
      { tokenId: reader.tokenId, name: "grafana", canViewPayloads: false, expiresAt: null },
      { tokenId: admin.tokenId, name: "mia", role: "admin", expiresAt: expect.stringMatching(/^20/) },
    ]);
    expect(await run("token", "revoke", reader.tokenId, "--reason", "unused")).toMatchObject({ code: 0 });
    expect(await run("token", "revoke", reader.tokenId)).toMatchObject({
      code: 3,
      errors: expect.stringContaining("[TOKEN_NOT_FOUND]"),
    });
    expect((await run("token", "list")).text).toMatch(/grafana +read +no +\S+ +revoked 20/);
    expect(await json("audit", "--action", "token")).toMatchObject([
      { action: "token.revoke", target: { tokenId: reader.tokenId }, reason: "unused" },
      { action: "token.create", target: { name: "grafana", role: "read" } },
      { action: "token.create", target: { name: "mia", role: "admin" } },
    ]);
    expect(JSON.stringify(await json("audit"))).not.toContain(admin.token.slice(-20));
  });

  it.each([
    [["--name", "x", "--role", "root"], "Allowed choices are read, operate, admin"],
    [["--name", "x", "--role", "read", "--expires", "soon"], "--expires must be a duration"],
    [["--name", "x", "--role", "read", "--expires", "1ms"], "'expiresInMs' must be >= 1000"],
    [["--name", "", "--role", "read"], "'name' must NOT have fewer than 1 characters"],
  ])("are not made of %j", async (args, text) => {
    await using t = await setup();
    const { run, json } = commandLine(await flagsTo(place, t));
    expect(await run("token", "create", ...args)).toMatchObject({
      code: 2,
      errors: expect.stringContaining(text),
    });
    expect(await json("token", "list")).toEqual([]);
  });
});

describe("the command line and a server", () => {
  it("a wrong, missing or insufficient token ends with exit code 1 and changes nothing", async () => {
    await using t = await setup();
    const file = join(await t.temporaryFolder(), "commands.ndjson");
    await writeFile(file, '{"commandType": "Ship"}\n'.repeat(50_000));
    const own = commandLine(["--database-url", t.url]);
    const { token } = await own.json("token", "create", "--name", "grafana", "--role", "read");
    const server = commandLine(await flagsTo("a server", t));
    for (const [given, code] of [
      ["", "[TOKEN_REQUIRED]"],
      [`${token.slice(0, -1)}${token.endsWith("A") ? "B" : "A"}`, "[TOKEN_REQUIRED]"],
      [token, "[ROLE_INSUFFICIENT]"],
    ]) {
      vi.stubEnv("TALLYMAN_TOKEN", given);
      for (const args of [
        ["send", "Ship"],
        ["batch", "create", "--file", file],
      ])
        expect(await server.run(...args)).toMatchObject({
          code: 1,
          errors: expect.stringContaining(code ?? ""),
        });
    }
    expect(await server.json("batch", "list")).toEqual([]);
    expect(await own.json("audit")).toMatchObject([{ action: "token.create" }]);
  });

  it("reads TALLYMAN_URL, which a flag overrides", async () => {
    await using t = await setup();
    vi.stubEnv("TALLYMAN_URL", nobody);
    expect(await runHere("batch", "list")).toMatchObject({
      code: 1,
      errors: expect.stringContaining("No answer from http://127.0.0.1:1"),
    });
    for (const place of places)
      expect(await runHere("batch", "list", ...(await flagsTo(place, t)))).toMatchObject({ code: 0 });
    const [, url = ""] = await flagsTo("a server", t);
    vi.stubEnv("TALLYMAN_URL", url);
    expect(await runHere("batch", "list", "--json")).toMatchObject({ code: 0, text: "[]" });
  });

  it.each([
    ["migrate"],
    ["doctor"],
    ["demo"],
    ["up", "--port", "0"],
    ["coordinator", "--port", "0"],
    ["scheduler-worker"],
    ["worker", "--handlers", "tests/children/handlers.mjs"],
  ])("%s says that it needs the database itself", async (...args) => {
    await using t = await setup();
    const folder = await t.temporaryFolder();
    const handlers = join(folder, "handlers.mjs");
    await writeFile(handlers, "export const handlers = {};");
    vi.stubEnv("TALLYMAN_EMBEDDED_FOLDER", join(folder, "postgres"));
    const line = args.map((arg) => (arg.endsWith("handlers.mjs") ? handlers : arg));
    const refused = { code: 2, errors: expect.stringContaining("needs the database itself") };
    expect(await runHere(...line, "--url", nobody)).toMatchObject(refused);
    vi.stubEnv("TALLYMAN_URL", nobody);
    expect(await runHere(...line)).toMatchObject(refused);
  });

  it.each([
    [["--url", nobody, "--database-url", "postgres://localhost/x"], "Keep one of them"],
    [["--url", "localhost:8082"], "such as http://127.0.0.1:8082"],
    [["--url", "nonsense"], "such as http://127.0.0.1:8082"],
  ])("refuses %j", async (flags, text) => {
    expect(await runHere("batch", "list", ...flags)).toMatchObject({
      code: 2,
      errors: expect.stringContaining(text),
    });
  });

  it("refuses --operator for a server, which knows who asks", async () => {
    const args = ["tsq", "retry", "--all", "--yes", "--operator", "mia", "--url", nobody];
    expect(await runHere(...args)).toMatchObject({ code: 2, errors: expect.stringContaining("--operator") });
  });
});

describe("who did it", () => {
  it("is the one named by --operator, or the token's name", async () => {
    await using t = await setup();
    const own = commandLine(["--database-url", t.url]);
    const args = ["--name", "grafana", "--role", "operate", "--operator", "mia"];
    const { token } = await own.json("token", "create", ...args);
    vi.stubEnv("TALLYMAN_TOKEN", token);
    await commandLine(await flagsTo("a server", t)).json("send", "Ship");
    expect(await own.json("audit")).toMatchObject([
      { action: "command.send", actor: "grafana" },
      { action: "token.create", actor: "mia" },
    ]);
  });
});

describe("tallyman up", () => {
  it("serves the API, says where, and that there are no services; a second one finds the port taken", async () => {
    await using t = await setup();
    const config = join(await t.temporaryFolder(), "server.yaml");
    await writeFile(config, "server: { port: 0, redacted-fields: [iban] }\n");
    const { child, line, url } = await up(t, "--config", config);
    expect(line).toMatch(/ on http:\/\/127\.0\.0\.1:\d+\. No services are configured\.$/);
    const { run, json } = commandLine(["--url", url]);
    const { commandId } = await json("send", "Ship", "--data", '{"iban": "canary", "orderId": 7}');
    const response = await fetch(`${url}/api/domains/default/commands/${commandId}`);
    expect(await response.json()).toMatchObject({ data: { data: { iban: "[hidden]", orderId: 7 } } });
    expect(await run("leader")).toMatchObject({ code: 1, text: expect.stringContaining("Nobody leads.") });
    const second = commandLine(["--database-url", t.url]);
    expect(await second.run("up", "--config", config, "--port", new URL(url).port)).toMatchObject({
      code: 1,
      errors: expect.stringContaining("[PORT_TAKEN]"),
    });
    child.kill("SIGTERM");
    expect(await child.exit).toEqual({ code: 0, signal: null });
    expect(child.lines.at(-1)).toBe("Stopped.");
  });

  it("listens where other machines reach it only while there is a token", async () => {
    await using t = await setup();
    const { run, json } = commandLine(["--database-url", t.url]);
    const everywhere = ["--host", "0.0.0.0", "--port", "0"];
    expect(await run("up", ...everywhere)).toMatchObject({
      code: 2,
      errors: expect.stringContaining("[PUBLIC_BIND_REFUSED]"),
    });
    const { token } = await json("token", "create", "--name", "mia", "--role", "admin");
    const { child, url } = await up(t, ...everywhere);
    const remote = commandLine(["--url", url.replace("0.0.0.0", "127.0.0.1")]);
    expect(await remote.run("batch", "list")).toMatchObject({ code: 1 });
    vi.stubEnv("TALLYMAN_TOKEN", token);
    expect(await remote.run("batch", "list")).toMatchObject({ code: 0 });
    child.kill("SIGTERM");
    expect((await child.exit).code).toBe(0);
  });
});
