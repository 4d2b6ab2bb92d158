import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Child, setup } from "../src/testing/index.ts";
import { startChild } from "./kit/children.ts";

const main = new URL("../src/cli/main.ts", import.meta.url);
const root = new URL("..", import.meta.url);

interface Run {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
}

function start(args: readonly string[], cwd: string, env: Record<string, string> = {}): Child {
  return startChild(main, { args, cwd, env: { DATABASE_URL: "", ...env } });
}

async function tallyman(
  args: readonly string[],
  cwd: string,
  env: Record<string, string> = {},
): Promise<Run> {
  const child = start(args, cwd, env);
  const { code } = await child.exit;
  return { code, output: child.lines.join("\n"), errors: child.errorOutput };
}

/** Starts the demo as `npm run demo` does, whose loader and script are found from the repository's root alone. */
function startDemoFromRoot(args: readonly string[], folder: string): Child {
  const place = { HOME: folder, TALLYMAN_EMBEDDED_FOLDER: join(folder, "postgres") };
  return new Child(
    spawn(process.execPath, ["--import", "tsx", "src/cli/main.ts", "demo", ...args], {
      cwd: root,
      env: { ...process.env, DATABASE_URL: "", ...place },
      stdio: ["ignore", "pipe", "pipe"],
    }),
  );
}

describe("tallyman", () => {
  it("demo --json as the README has it: all parts succeed, one JSON document, and nothing left running", async () => {
    await using t = await setup();
    const folder = await t.temporaryFolder();
    await using demo = startDemoFromRoot(["--json"], folder);
    expect(await demo.exit, demo.errorOutput).toEqual({ code: 0, signal: null });
    expect(JSON.parse(demo.lines.join("\n"))).toMatchObject({
      success: true,
      commands: { total: 5_000, completed: 5_000 },
      pipeline: { ticksProduced: 2_000, ticksIndexed: 2_000, duplicates: 0, gapsOpen: 0 },
      scheduler: { segmentsOwned: 100, firesExpected: 600, firesDone: 600 },
      doctor: { healthy: true },
    });
    expect(existsSync(join(folder, "postgres", "data", "PG_VERSION"))).toBe(true);
    expect(existsSync(join(folder, "postgres", "data", "postmaster.pid"))).toBe(false);
  }, 240_000);

  it("a demo that is killed takes its processes with it, and the last of them stops the server", async () => {
    await using t = await setup();
    const cwd = await t.temporaryFolder();
    const pid = join(cwd, ".tallyman", "postgres", "data", "postmaster.pid");
    await using demo = start(["demo"], cwd);
    const said = () => demo.errorOutput.includes("Killing the leader");
    await expect.poll(said, { timeout: 180_000, interval: 50 }).toBe(true);
    demo.kill("SIGKILL");
    await demo.exit;
    await expect.poll(() => existsSync(pid), { timeout: 60_000, interval: 50 }).toBe(false);
  }, 240_000);

  it("doctor attaches to the database of a demo that stays up", async () => {
    await using t = await setup();
    const cwd = await t.temporaryFolder();
    await using demo = start(["demo", "--keep", "--port", "0"], cwd);
    const isUp = () => demo.errorOutput.includes("The dashboard is at http");
    await expect.poll(isUp, { timeout: 180_000, interval: 50 }).toBe(true);
    // Its fleet may just have no leader, or a worker that is late.
    const findings = async () => {
      const { code, output } = await tallyman(["doctor", "--json"], cwd);
      return code === 0 ? JSON.parse(output).findings : output;
    };
    await expect
      .poll(findings, { timeout: 60_000 })
      .toContainEqual(expect.objectContaining({ check: "migrations", status: "ok" }));
    expect(existsSync(join(cwd, ".tallyman", "postgres", "data", "postmaster.pid"))).toBe(true);
    demo.kill("SIGTERM");
    expect(await demo.exit).toEqual({ code: 0, signal: null });
    expect(existsSync(join(cwd, ".tallyman", "postgres", "data", "postmaster.pid"))).toBe(false);
  }, 240_000);

  it.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
    "%s while it starts leaves no server behind",
    async (signal) => {
      await using t = await setup();
      const cwd = await t.temporaryFolder();
      const folder = join(cwd, ".tallyman", "postgres");
      await using demo = start(["demo"], cwd);
      await expect.poll(() => existsSync(folder), { timeout: 60_000, interval: 5 }).toBe(true);
      demo.kill(signal);
      const { code } = await demo.exit;
      expect(code).toBe({ SIGTERM: 143, SIGINT: 130, SIGHUP: 129 }[signal]);
      expect(await readdir(folder)).not.toContainEqual(expect.stringMatching(/^\.data-/));
      expect(existsSync(join(folder, "data", "postmaster.pid"))).toBe(false);
    },
  );

  it("doctor says what it can when the database does not answer", async () => {
    await using t = await setup();
    const env = { DATABASE_URL: "postgres://a:canary@127.0.0.1:1/x" };
    const { code, output } = await tallyman(["doctor", "--json"], await t.temporaryFolder(), env);
    expect(code).toBe(6);
    expect(JSON.parse(output).findings).toMatchObject([
      { check: "node", status: "ok" },
      { check: "database", status: "failure" },
    ]);
  });

  it("migrate --dry-run lists and changes nothing; migrate applies; a second one has nothing to do", async () => {
    await using t = await setup({ empty: true });
    const cwd = await t.temporaryFolder();
    const env = { DATABASE_URL: t.url };
    const dry = await tallyman(["migrate", "--dry-run", "--json"], cwd, env);
    expect(dry.code).toBe(5);
    expect(JSON.parse(dry.output).pending).toContain("001-foundation");
    const { rows } = await t.database.query("SELECT to_regnamespace('tallyman') AS found");
    expect(rows).toEqual([{ found: null }]);
    expect(await tallyman(["doctor"], cwd, env)).toMatchObject({
      code: 5,
      output: expect.stringContaining("tallyman migrate"),
    });
    expect(await tallyman(["migrate"], cwd, env)).toMatchObject({
      code: 0,
      output: expect.stringContaining("001-foundation"),
    });
    expect(await tallyman(["migrate"], cwd, env)).toMatchObject({
      code: 0,
      output: expect.stringContaining("up to date"),
    });
  });

  it("init writes a configuration that loads, and never overwrites one", async () => {
    await using t = await setup();
    const cwd = await t.temporaryFolder();
    expect(await tallyman(["init"], cwd)).toMatchObject({ code: 0 });
    expect(await tallyman(["config", "print"], cwd)).toMatchObject({
      code: 0,
      output: expect.stringContaining("schema: tallyman"),
    });
    expect(await tallyman(["init"], cwd)).toMatchObject({
      code: 2,
      errors: expect.stringContaining("exists already"),
    });
  });

  it("config print hides secrets", async () => {
    await using t = await setup();
    const env = { DATABASE_URL: "postgres://crew:canary-secret@db.example/x" };
    const { code, output, errors } = await tallyman(["config", "print"], await t.temporaryFolder(), env);
    expect(code).toBe(0);
    expect(output).toContain("postgres://crew:***@db.example/x");
    expect(output + errors).not.toContain("canary-secret");
  });
});

describe("bad input gets one clear line, the documented exit code and no stack trace, and changes nothing", () => {
  it.each([
    [["doctor"], { DATABASE_URL: "nonsense" }, 2, "DATABASE_URL_INVALID"],
    [["doctor"], { DATABASE_URL: "postgres://a:canary@127.0.0.1:1/x" }, 6, "DATABASE_UNREACHABLE"],
    [["doctor", "--config", "missing.yaml"], {}, 3, "CONFIG_NOT_FOUND"],
    [["doctor", "--config", "misspelt.yaml"], {}, 2, "Did you mean 'database'?"],
    [["doctor", "--schema", "Robert'); --"], {}, 2, "CONFIG_INVALID"],
    [["docter"], {}, 2, "Did you mean doctor?"],
    [["migrate", "--dry"], {}, 2, "unknown option"],
    [["config"], {}, 2, "Usage"],
  ])("tallyman %j %j → exit %i, %s", async (args, env, exit, text) => {
    await using t = await setup();
    const cwd = await t.temporaryFolder();
    await writeFile(join(cwd, "misspelt.yaml"), "databse:\n  schema: x\n");
    const { code, errors } = await tallyman(args, cwd, env as Record<string, string>);
    expect(errors).toContain(text);
    expect(code).toBe(exit);
    expect(errors).not.toMatch(/^ +at /m);
    expect(errors).not.toContain("canary");
    expect(await readdir(cwd)).toEqual(["misspelt.yaml"]);
  });

  it("wrong password: says so, without showing it", async () => {
    await using t = await setup();
    const url = t.url.replace(/:[^:@]+@/, ":canary@");
    const { code, errors } = await tallyman(["doctor"], await t.temporaryFolder(), { DATABASE_URL: url });
    expect(code).toBe(6);
    expect(errors.trim().split("\n")).toHaveLength(1);
    expect(errors).toContain("DATABASE_LOGIN_FAILED");
    expect(errors).not.toContain("canary");
  });

  it("--verbose adds the stack trace, --json the envelope", async () => {
    await using t = await setup();
    const args = ["doctor", "--verbose", "--json"];
    const { output, errors } = await tallyman(args, await t.temporaryFolder(), { DATABASE_URL: "nonsense" });
    expect(errors).toMatch(/^ +at /m);
    expect(JSON.parse(output)).toMatchObject({ success: false, error: { code: "DATABASE_URL_INVALID" } });
  });
});
