import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { commandLine } from "../../tests/kit/cli.ts";
import { ensureRunSchema } from "../database/index.ts";
import { FileSystemStorage } from "../storage/index.ts";
import { setup, type TestContext } from "../testing/index.ts";

/** Command lines in a project with two runs in storage and two in the database, one of them in both. */
async function projectWithRuns(t: TestContext) {
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
  return commandLine(["--config", config, "--database-url", t.url]);
}

describe("tallyman run", () => {
  it("lists the runs of storage and database together", async () => {
    await using t = await setup();
    const { run, json } = await projectWithRuns(t);
    const { runs } = await json("run", "list");
    expect(runs).toHaveLength(3);
    expect(runs).toContainEqual(expect.objectContaining({ runId: "both", schema: "sim_both", lastTick: 39 }));
    expect(runs).toContainEqual(
      expect.objectContaining({ runId: "indexed-only", inStorage: false, lastTick: null }),
    );
    expect(runs).toContainEqual(expect.objectContaining({ runId: "stored-only", schema: null, lastTick: 4 }));
    expect(await run("run", "list")).toMatchObject({
      code: 0,
      text: expect.stringMatching(/both +to tick 39 +sim_both/),
    });
  });

  it("inspects a run, and says when there is none", async () => {
    await using t = await setup();
    const { run, json } = await projectWithRuns(t);
    expect(await json("run", "inspect", "both", "--verify")).toMatchObject({
      files: 3,
      records: 3,
      schema: "sim_both",
      ticks: { tickStart: 0, tickEnd: 39 },
      holes: [{ tickStart: 20, tickEnd: 29 }],
      unreadableTotal: 0,
    });
    expect(await run("run", "inspect", "both", "--files")).toMatchObject({
      code: 0,
      text: expect.stringMatching(/20 to 29[\s\S]*30 +39 +1 +\d+ +both\/raw/),
    });
    expect((await run("run", "inspect", "nobody")).code).toBe(3);
    expect((await run("run", "inspect", "../both")).code).toBe(2);
    expect((await run("run", "inspect", "both", "--sampling-interval", "0")).code).toBe(2);
  });
});
