import { existsSync } from "node:fs";
import { chmod, mkdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Database, EmbeddedServer, freePort } from "../src/database/index.ts";
import { setup, type TestContext } from "../src/testing/index.ts";
import { startChild } from "./kit/children.ts";

const attachScript = new URL("./children/attach.child.ts", import.meta.url);
const isRoot = process.getuid?.() === 0;

async function postmasterPid(folder: string): Promise<number> {
  return Number((await readFile(join(folder, "data", "postmaster.pid"), "utf8")).split("\n")[0]);
}

/** An embedded server and a pool on it, in a test that loses the server. */
async function openLosable(t: TestContext) {
  t.logs.expectLog({
    logger: "database.embedded",
    level: "warn",
    message: "Lost the embedded PostgreSQL, attaching again",
  });
  const folder = join(await t.temporaryFolder(), "postgres");
  const server = t.use(await EmbeddedServer.attach({ folder }));
  return { folder, server, database: t.use(await Database.connect({ url: server.url() }, server)) };
}

describe("embedded server", () => {
  it("is shared by all processes, whoever started it, and stopped by the last one out", async () => {
    await using t = await setup();
    const folder = join(await t.temporaryFolder(), "postgres");
    await using starter = startChild(attachScript, { args: [folder] });
    await starter.line("attached");
    await using second = startChild(attachScript, { args: [folder] });
    await second.line("attached");

    starter.kill("SIGKILL");
    await starter.exit;
    const worked = second.lines.length;
    await second.line(`worked ${(worked + 5) * 10}`);
    expect(await postmasterPid(folder)).toBeGreaterThan(0);

    await using third = startChild(attachScript, { args: [folder] });
    await third.line("attached");
    second.kill("SIGTERM");
    await second.line("left");
    await third.line(`worked ${(third.lines.length + 5) * 10}`);
    expect(existsSync(join(folder, "data", "postmaster.pid"))).toBe(true);
    third.kill("SIGTERM");
    await third.line("left");
    expect(existsSync(join(folder, "data", "postmaster.pid"))).toBe(false);
  });

  it("is made and started once when several come at the same moment", async () => {
    await using t = await setup();
    const folder = join(await t.temporaryFolder(), "postgres");
    const servers = await Promise.all(Array.from({ length: 4 }, () => EmbeddedServer.attach({ folder })));
    expect(new Set(servers.map((server) => server.port)).size).toBe(1);
    await Promise.all(servers.map((server) => server.close()));
    expect(existsSync(join(folder, "data", "postmaster.pid"))).toBe(false);
  });

  it("comes back for those attached when it is killed, and keeps what was committed", async () => {
    await using t = await setup();
    const { folder, database } = await openLosable(t);
    await database.query("CREATE TABLE kept AS SELECT 42 AS answer");
    const killed = await postmasterPid(folder);
    process.kill(killed, "SIGKILL");
    // The killed server's own children may answer for another moment.
    await expect.poll(() => postmasterPid(folder).catch(() => killed), { timeout: 30_000 }).not.toBe(killed);
    const answer = () => database.query("SELECT answer FROM kept").catch(() => undefined);
    await expect.poll(answer, { timeout: 30_000 }).toMatchObject({ rows: [{ answer: 42 }] });
  });

  it("waits for what is left of a killed server, and then comes back", async () => {
    await using t = await setup();
    const { folder, database } = await openLosable(t);
    const { rows } = await database.query<{ pid: number }>(
      "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'",
    );
    const killed = await postmasterPid(folder);
    const checkpointer = rows[0]?.pid ?? 0;
    process.kill(checkpointer, "SIGSTOP");
    process.kill(killed, "SIGKILL");
    const log = () => readFile(join(folder, "server.log"), "utf8");
    await expect.poll(log, { timeout: 30_000 }).toContain("is still in use");
    process.kill(checkpointer, "SIGCONT");
    const answer = () => database.query("SELECT 1 AS n").catch(() => undefined);
    await expect.poll(answer, { timeout: 30_000 }).toMatchObject({ rows: [{ n: 1 }] });
  });

  it.each([
    [
      "damaged",
      "EMBEDDED_FOLDER_DAMAGED",
      (folder: string) => rm(join(folder, "data", "global", "pg_control")),
    ],
    [
      "of another version",
      "EMBEDDED_VERSION_MISMATCH",
      (folder: string) => writeFile(join(folder, "data", "PG_VERSION"), "14\n"),
    ],
    [
      "without its password",
      "EMBEDDED_FOLDER_DAMAGED",
      (folder: string) => rm(join(folder, "data", "tallyman.password")),
    ],
  ])("says that the folder is %s", async (_what, code, spoil) => {
    await using t = await setup();
    const folder = join(await t.temporaryFolder(), "postgres");
    await (await EmbeddedServer.attach({ folder })).close();
    await spoil(folder);
    await expect(EmbeddedServer.attach({ folder })).rejects.toMatchObject({
      code,
      message: expect.stringContaining(folder),
    });
  });

  it("says that the folder can't be written, and leaves nothing half-made", async () => {
    await using t = await setup();
    const parent = await t.temporaryFolder();
    await writeFile(join(parent, "file"), "");
    const folder = join(parent, "file", "postgres");
    await expect(EmbeddedServer.attach({ folder })).rejects.toMatchObject({
      code: "EMBEDDED_FOLDER_UNWRITABLE",
    });
  });

  it("says that the port is taken", async () => {
    await using t = await setup();
    const other = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => other.once("listening", resolve));
    const { port } = other.address() as { port: number };
    const folder = join(await t.temporaryFolder(), "postgres");
    await expect(EmbeddedServer.attach({ folder, port })).rejects.toMatchObject({
      code: "PORT_TAKEN",
      details: { port },
    });
    other.close();
  });

  it("is followed to another port by the pools and listeners of those attached", async () => {
    await using t = await setup();
    const { folder, server, database } = await openLosable(t);
    const hints: string[] = [];
    database.listener.subscribe("work", (payload) => hints.push(payload));
    await expect.poll(() => hints.length, { timeout: 30_000 }).toBe(1);
    const oldPort = server.port;
    await writeFile(join(folder, "port"), String(await freePort()));
    process.kill(await postmasterPid(folder), "SIGKILL");
    await expect.poll(() => server.port, { timeout: 30_000 }).not.toBe(oldPort);
    const answer = () => database.query("SELECT 1 AS n").catch(() => undefined);
    await expect.poll(answer, { timeout: 30_000 }).toMatchObject({ rows: [{ n: 1 }] });
    await expect.poll(() => hints.length, { timeout: 30_000 }).toBeGreaterThan(1);
  });

  it("starts in folders with spaces, quotes and what a shell would run", async () => {
    await using t = await setup();
    const parent = await t.temporaryFolder();
    const folder = join(parent, 'it\'s a "$HOME" `touch PWNED` ünïcode');
    await (await EmbeddedServer.attach({ folder })).close();
    expect(existsSync(join(folder, "PWNED"))).toBe(false);
    const hostile = EmbeddedServer.attach({ folder, settings: { work_mem: "4MB; touch PWNED" } });
    await expect(hostile).rejects.toMatchObject({ code: "INVALID_OPTION" });
  });

  it("starts although a pid file was left whose number is another program's now", async () => {
    await using t = await setup();
    const folder = join(await t.temporaryFolder(), "postgres");
    await (await EmbeddedServer.attach({ folder })).close();
    const pidFile = join(folder, "data", "postmaster.pid");
    await writeFile(pidFile, `${process.pid}\n${folder}\n1\n5432\n\n127.0.0.1\n`);
    const longAgo = new Date(Date.now() - 60_000);
    await utimes(pidFile, longAgo, longAgo);
    await (await EmbeddedServer.attach({ folder })).close();
  });

  it.skipIf(!isRoot)("serves root from a home that the server's user can't enter (needs root)", async () => {
    await using t = await setup();
    const home = join(await t.temporaryFolder(), "home");
    await mkdir(home);
    await chmod(home, 0o700);
    const folder = join(home, ".tallyman", "postgres");
    const server = await EmbeddedServer.attach({ folder });
    const real = server.folder;
    await server.close();
    expect(real).not.toContain(home);
    const again = await EmbeddedServer.attach({ folder });
    expect(again.folder).toBe(real);
    await again.close();
    await rm(real, { recursive: true });
  });
});
