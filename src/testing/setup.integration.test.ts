import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { describe, expect, it } from "vitest";
import { logger, Service, sleep } from "../runtime/index.ts";
import { setup, startChild } from "./index.ts";

class Idler extends Service {
  protected override runOnce(signal: AbortSignal): Promise<void> {
    return sleep(60_000, signal);
  }
}

describe("setup", () => {
  it("gives each test a migrated database of its own", async () => {
    await using first = await setup();
    await using second = await setup();
    await first.database.query("CREATE TABLE mine ()");
    const { rows } = await second.database.query(
      "SELECT to_regclass('mine') AS found, to_regclass('tallyman.migration')::text AS own",
    );
    expect(rows).toEqual([{ found: null, own: "tallyman.migration" }]);
  });

  it("fails a test that leaves a connection open", async () => {
    const t = await setup();
    const client = new pg.Client({ connectionString: t.url, application_name: "forgotten" });
    client.on("error", () => undefined);
    await client.connect();
    await expect(t[Symbol.asyncDispose]()).rejects.toThrow(/connection "forgotten"/);
  });

  it("fails a test that leaves a service running", async () => {
    const t = await setup();
    const service = new Idler("idler");
    await service.start();
    await expect(t[Symbol.asyncDispose]()).rejects.toThrow(/service idler still runs/);
    await service.stop();
  });

  it("fails a test that leaves a temporary folder behind", async () => {
    const t = await setup();
    const folder = await mkdtemp(join(tmpdir(), `tallyman-${process.pid}-`));
    await expect(t[Symbol.asyncDispose]()).rejects.toThrow(/temporary folder tallyman-/);
    await rm(folder, { recursive: true });
  });

  it("fails a test that logs a warning it did not expect", async () => {
    const t = await setup();
    logger("somewhere").warn("Something odd happened");
    await expect(t[Symbol.asyncDispose]()).rejects.toThrow(/WARN somewhere: Something odd happened/);
  });
});

describe("crash points", () => {
  const script = new URL("../../tests/children/crash.child.ts", import.meta.url);

  it("end the child with SIGKILL at the armed pass", async () => {
    const child = startChild(script, { crashAt: "loop.turn:3" });
    expect(await child.exit).toEqual({ code: null, signal: "SIGKILL" });
    expect(child.lines).toEqual(["turn 1", "turn 2", "turn 3"]);
  });

  it("do nothing when they are not armed", async () => {
    const child = startChild(script, { crashAt: "elsewhere" });
    expect(await child.exit).toEqual({ code: 0, signal: null });
    expect(child.lines).toHaveLength(5);
  });
});
