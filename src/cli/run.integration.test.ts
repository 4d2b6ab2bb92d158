import { spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { ensureRunSchema } from "../database/index.ts";
import { FileSystemStorage } from "../storage/index.ts";
import { setup, type TestContext } from "../testing/index.ts";

const main = fileURLToPath(new URL("./main.ts", import.meta.url));

async function projectWithRuns(
  t: TestContext,
): Promise<(...args: string[]) => { status: number | null; stdout: string }> {
  const folder = await t.temporaryFolder();
  const config = join(folder, "tallyman.config.yaml");
  await writeFile(
    config,
    "resources: { ticks: { className: FileSystemStorage, options: { rootDirectory: files } } }",
  );
  await ensureRunSchema(t.database, "indexed-only");
  await ensureRunSchema(t.database, "both");
  const storage = new FileSystemStorage({ rootDirectory: join(folder, "files") });
  for (const first of [0, 10, 30]) await storage.writeBatch("both", first, first + 9, [Buffer.from("tick")]);
  await storage.writeBatch("stored-only", 0, 4, []);
  return (...args) => {
    const all = ["--import", "tsx", main, ...args, "--config", config, "--database-url", t.url];
    const { status, stdout } = spawnSync(process.execPath, all, { encoding: "utf8" });
    return { status, stdout };
  };
}

describe("tallyman run", () => {
  it("lists the runs of storage and database together", async () => {
    await using t = await setup();
    const tallyman = await projectWithRuns(t);
    const { status, stdout } = tallyman("run", "list", "--json");
    expect(status).toBe(0);
    const { runs } = JSON.parse(stdout);
    expect(runs).toHaveLength(3);
    expect(runs).toContainEqual(expect.objectContaining({ runId: "both", schema: "sim_both", lastTick: 39 }));
    expect(runs).toContainEqual(
      expect.objectContaining({ runId: "indexed-only", inStorage: false, lastTick: null }),
    );
    expect(runs).toContainEqual(expect.objectContaining({ runId: "stored-only", schema: null, lastTick: 4 }));
    expect(tallyman("run", "list").stdout).toMatch(/both +to tick 39 +sim_both/);
  });

  it("inspects a run, and says when there is none", async () => {
    await using t = await setup();
    const tallyman = await projectWithRuns(t);
    const { status, stdout } = tallyman("run", "inspect", "both", "--json", "--verify");
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      files: 3,
      records: 3,
      schema: "sim_both",
      ticks: { tickStart: 0, tickEnd: 39 },
      holes: [{ tickStart: 20, tickEnd: 29 }],
      unreadableTotal: 0,
    });
    expect(tallyman("run", "inspect", "both", "--files").stdout).toMatch(
      /20 to 29[\s\S]*30 +39 +1 +\d+ +both\/raw/,
    );
    expect(tallyman("run", "inspect", "nobody").status).toBe(3);
    expect(tallyman("run", "inspect", "../both").status).toBe(2);
    expect(tallyman("run", "inspect", "both", "--sampling-interval", "0").status).toBe(2);
  });
});
