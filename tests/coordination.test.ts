import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { SimulationMetadataSchema } from "../src/contracts/index.ts";
import { createBatchCoordinator, MetadataWriter } from "../src/coordination/index.ts";
import { ensureRunSchema } from "../src/database/index.ts";
import { setup, startChild, type TestContext } from "../src/testing/index.ts";

const script = new URL("./children/claimer.child.ts", import.meta.url);
const fileCount = 1000;

async function prepare(t: TestContext): Promise<void> {
  await ensureRunSchema(t.database, "run-1");
  await t.database.query("CREATE TABLE effects (filename text, instance text)");
}

function startClaimer(t: TestContext, crashAt?: string) {
  const env = { DATABASE_URL: t.url };
  return t.use(
    startChild(script, { args: [String(fileCount)], env, ...(crashAt !== undefined && { crashAt }) }),
  );
}

async function expectEachOnce(t: TestContext): Promise<void> {
  const { rows } = await t.database.query(
    `SELECT count(*) AS effects, count(DISTINCT filename) AS files,
            (SELECT count(*) FROM sim_run_1.coordinator_batches WHERE status = 'completed') AS completed
     FROM effects`,
  );
  expect(rows).toEqual([{ effects: fileCount, files: fileCount, completed: fileCount }]);
}

describe("competing instances in processes of their own", () => {
  it("three over 1,000 files: each file exactly once, and each instance did some", async () => {
    await using t = await setup();
    await prepare(t);
    const claimers = [startClaimer(t), startClaimer(t), startClaimer(t)];
    const lines = await Promise.all(claimers.map((claimer) => claimer.line("done")));
    await Promise.all(claimers.map((claimer) => claimer.exit));
    await expectEachOnce(t);
    for (const line of lines) expect(Number(line.split(" ")[1])).toBeGreaterThan(0);
  });

  it.each(["claimer.after-claim:5", "claimer.before-complete:33", "claimer.after-commit:33"])(
    "one killed at %s: its claims are taken over after the lease, nothing is lost and nothing done twice",
    async (crashAt) => {
      await using t = await setup();
      await prepare(t);
      const doomed = startClaimer(t, crashAt);
      expect(await doomed.exit).toEqual({ code: null, signal: "SIGKILL" });
      const survivors = [startClaimer(t), startClaimer(t)];
      await Promise.all(survivors.map((survivor) => survivor.line("done")));
      await Promise.all(survivors.map((survivor) => survivor.exit));
      await expectEachOnce(t);
    },
  );
});

describe("tallyman gaps and run inspect", () => {
  const main = new URL("../src/cli/main.ts", import.meta.url);

  async function gaps(t: TestContext, ...more: string[]) {
    const child = startChild(main, {
      args: ["gaps", "--run", "run-1", ...more],
      env: { DATABASE_URL: t.url },
    });
    const { code } = await child.exit;
    return { code, output: child.lines.join("\n"), errors: child.errorOutput };
  }

  it("prints the list and a one-line strip of the tick range", async () => {
    await using t = await setup();
    const metadata = create(SimulationMetadataSchema, {
      simulationRunId: "run-1",
      samplingInterval: 10,
      declaredEndTick: 4990n,
    });
    await new MetadataWriter(t.database).insertMetadata("run-1", metadata);
    const coordinator = createBatchCoordinator(t.database);
    coordinator.setSimulationRun("run-1");
    const ready = coordinator.setIndexerClass("Dummy");
    const files = [0, 1, 3].map((n) => ({
      filename: `f${n}`,
      storageKey: `f${n}`,
      tickStart: n * 1000,
      tickEnd: n * 1000 + 990,
      bytes: 1,
      crc: 1,
    }));
    await ready.registerFiles(files);
    await ready.tryClaim("f0", 0, 990);
    await ready.markCompleted("f0");
    await ready.reconcileGaps({ samplingInterval: 10, declaredEnd: 4990 });
    const text = await gaps(t);
    expect(text.code).toBe(0);
    expect(text.output).toMatch(
      /Dummy: 500 ticks expected: 100 indexed, 200 in flight, 0 failed, 200 in pending gaps/,
    );
    expect(text.output).toMatch(/^█{20}░{20}·{20}░{20}·{20}$/m);
    expect(text.output).toMatch(/2000–2990 {2}pending/);
    const { output } = await gaps(t, "--json");
    expect(JSON.parse(output)).toMatchObject({
      runId: "run-1",
      indexers: [
        { indexerClass: "Dummy", unaccounted: 0, gaps: [{ gapStartTick: 2000 }, { gapStartTick: 4000 }] },
      ],
    });
  });

  it("run inspect shows the claims by status and instance", async () => {
    await using t = await setup();
    const coordinator = createBatchCoordinator(t.database, { instanceId: "indexer-1" });
    coordinator.setSimulationRun("run-1");
    const ready = coordinator.setIndexerClass("Dummy");
    await ready.tryClaim("f0", 0, 990);
    await ready.markCompleted("f0");
    await ready.tryClaim("f1", 1000, 1990);
    const cwd = await t.temporaryFolder();
    const child = startChild(main, {
      args: ["run", "inspect", "run-1", "--json"],
      cwd,
      env: { DATABASE_URL: t.url },
    });
    expect(await child.exit, child.errorOutput).toMatchObject({ code: 0 });
    expect(JSON.parse(child.lines.join("\n")).claims).toEqual([
      { indexerClass: "Dummy", status: "claimed", instanceId: "indexer-1", files: 1 },
      { indexerClass: "Dummy", status: "completed", instanceId: "indexer-1", files: 1 },
    ]);
  });

  it("does not take a database error for metadata that is not there", async () => {
    await using t = await setup();
    const coordinator = createBatchCoordinator(t.database);
    coordinator.setSimulationRun("run-1");
    await coordinator.setIndexerClass("Dummy").tryClaim("f0", 0, 990);
    expect(await gaps(t)).toMatchObject({ code: 0 });
    await t.database.query("ALTER TABLE sim_run_1.metadata RENAME COLUMN value TO renamed");
    expect(await gaps(t)).toMatchObject({ code: 1, errors: expect.stringContaining("DATABASE_ERROR") });
  });

  it("answers an unknown run with exit code 3", async () => {
    await using t = await setup();
    expect(await gaps(t)).toMatchObject({ code: 3, errors: expect.stringContaining("RUN_NOT_FOUND") });
  });
});
