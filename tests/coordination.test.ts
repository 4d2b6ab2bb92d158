import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { SimulationMetadataSchema } from "../src/contracts/index.ts";
import { createBatchCoordinator, MetadataWriter } from "../src/coordination/index.ts";
import { ensureRunSchema } from "../src/database/index.ts";
import { setup, type TestContext } from "../src/testing/index.ts";
import { startChild } from "./kit/children.ts";
import { commandLine, flagsTo, places, runHere } from "./kit/cli.ts";

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
    await t.database.transaction(async (tx) => {
      await tx.query("SELECT pg_advisory_xact_lock(1)");
      await Promise.all(claimers.map((claimer) => claimer.line("ready")));
    });
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

describe("tallyman gaps and run", () => {
  const main = new URL("../src/cli/main.ts", import.meta.url);
  const gaps = (t: TestContext) => runHere("gaps", "--run", "run-1", "--database-url", t.url);

  it.each(places)("prints the list and a one-line strip of the tick range, by way of %s", async (place) => {
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
    await ready.tryClaim("f1", 1000, 1990);
    await ready.reconcileGaps({ samplingInterval: 10, declaredEnd: 4990 });
    const { run, json } = commandLine(await flagsTo(place, t));
    const shown = await run("gaps", "--run", "run-1");
    expect(shown.code).toBe(0);
    expect(shown.text).toMatch(
      /Dummy: 500 ticks expected: 100 indexed, 200 in flight, 0 failed, 200 in pending gaps/,
    );
    expect(shown.text).toMatch(/^█{20}░{20}·{20}░{20}·{20}$/m);
    expect(shown.text).toMatch(/2000–2990 {2}pending/);
    const { runId, indexers } = await json("gaps", "--run", "run-1");
    expect(runId).toBe("run-1");
    expect(indexers).toMatchObject([
      { indexerClass: "Dummy", unaccounted: 0, gaps: [{ gapStartTick: 2000 }, { gapStartTick: 4000 }] },
    ]);
    expect(Object.keys(indexers[0]).sort()).toEqual([
      "counts",
      "endDeclared",
      "expected",
      "gaps",
      "indexerClass",
      "samplingInterval",
      "strip",
      "unaccounted",
    ]);
    expect(await run("gaps", "--run", "nowhere")).toMatchObject({ code: 3 });
    expect(await run("gaps", "--run", "run-1", "--indexer-class", "Nobody")).toMatchObject({ code: 3 });

    await ready.markFailed("f1", "broken");
    const retry = ["run", "retry", "run-1", "--indexer-class"];
    expect(await json(...retry, "Dummy")).toEqual({
      runId: "run-1",
      indexerClass: "Dummy",
      files: 1,
      messages: 0,
    });
    expect(await run(...retry, "Nobody")).toMatchObject({ code: 3 });
    expect(await json("audit")).toMatchObject([{ action: "run.retry", changed: 1 }]);
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
