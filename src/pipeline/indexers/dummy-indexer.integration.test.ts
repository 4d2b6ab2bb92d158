import { describe, expect, it } from "vitest";
import {
  ledger,
  openPipeline,
  quick,
  range,
  runId,
  started,
  unswept,
  until,
} from "../../../tests/kit/pipeline.ts";
import { createBatchCoordinator } from "../../coordination/index.ts";
import { setup, type TestContext } from "../../testing/index.ts";
import { DummyIndexer } from "../index.ts";

async function gaps(t: TestContext): Promise<string[]> {
  const { rows } = await t.database
    .forRun("sim_run_1")
    .query<{ text: string }>(
      "SELECT format('%s-%s %s', gap_start_tick, gap_end_tick, status) AS text FROM sim.coordinator_gaps",
    );
  return rows.map(({ text }) => text);
}

describe("DummyIndexer", () => {
  it("finds files without any topic, and what fills a gap later", async () => {
    await using t = await setup();
    const pipeline = await openPipeline(t, { samplingInterval: 10 });
    await pipeline.writeMetadata();
    for (const start of [0, 2000, 3000]) await pipeline.write(start, 100);
    const { storage, database, coordinator } = await pipeline.resources("unused");
    const indexer = await started(
      t,
      new DummyIndexer("dummy", { storage, database, coordinator }, { ...unswept, source: "discovery" }),
    );
    await until("three files are done", () => indexer.getMetrics().batches_processed === 3);
    await until("the gap is known", async () => (await gaps(t)).length === 1);
    expect(await gaps(t)).toEqual(["1000-1990 pending"]);
    await pipeline.write(1000, 100);
    await until("the gap is filled", () => indexer.getMetrics().batches_processed === 4);
    await until("the gap is closed", async () => (await gaps(t)).length === 0);
    t.logs.expectLog({ logger: "pipeline.gap-detection", level: "debug", message: "Gaps have changed" });
    expect(indexer.getMetrics()).toMatchObject({
      ticks_processed: 400,
      cells_observed: 400,
      organisms_observed: 400,
    });
  });

  it("has the figures of its coordinator, unless that is a resource with figures of its own", async () => {
    await using t = await setup();
    const pipeline = await openPipeline(t);
    await pipeline.writeMetadata();
    await pipeline.send(0, 10);
    const { coordinator, ...resources } = await pipeline.resources("dummy");
    const indexer = await started(t, new DummyIndexer("dummy", resources, unswept));
    await until("the file is done", () => indexer.getMetrics().batches_processed === 1);
    expect(indexer.getMetrics()).toMatchObject({
      claim_successes: 1,
      batches_completed: 1,
      metadata_reads: expect.any(Number),
    });
    const bound = new DummyIndexer("bound", { ...resources, coordinator }, unswept);
    expect(bound.getMetrics()).not.toHaveProperty("claim_successes");
  });

  it("looks below its batchPath only", async () => {
    await using t = await setup();
    t.logs.expectLog({
      logger: "pipeline.gap-detection",
      level: "warn",
      message: "Permanent gap: [0, 99999] *",
    });
    const pipeline = await openPipeline(t);
    await pipeline.writeMetadata();
    for (const start of [0, 100_000, 100_010]) await pipeline.write(start, 10);
    const { storage, database, coordinator } = await pipeline.resources("unused");
    const indexer = new DummyIndexer(
      "dummy",
      { storage, database, coordinator },
      {
        ...unswept,
        source: "discovery",
        batchPath: "run-1/raw/00000000000/001/",
        gapWarningTimeoutMs: 50,
      },
    );
    await started(t, indexer);
    await until("two files are done", () => indexer.getMetrics().batches_processed === 2);
    await until("the gap is given up", () => indexer.getMetrics().permanent_gaps_detected === 1);
    expect(await ledger(t, "DummyIndexer")).toEqual({ 100000: "completed 10", 100010: "completed 10" });
  });

  it("gives up a gap that stays, with one warning", async () => {
    await using t = await setup();
    t.logs.expectLog({
      logger: "pipeline.gap-detection",
      level: "warn",
      message: "Permanent gap: [1000, 2990] *",
    });
    const pipeline = await openPipeline(t, { samplingInterval: 10 });
    await pipeline.writeMetadata();
    for (const start of [0, 3000]) await pipeline.send(start, 100);
    const resources = await pipeline.resources("dummy");
    const indexer = await started(
      t,
      new DummyIndexer("dummy", resources, { ...unswept, gapWarningTimeoutMs: 50 }),
    );
    await until("it is given up", () => indexer.getMetrics().permanent_gaps_detected === 1);
    await until("the rest is done", () => indexer.getMetrics().batches_processed === 2);
  });

  it("sweeps up a file that turns up unannounced in a gap given up, and searches the rest of the gap again", async () => {
    await using t = await setup();
    t.logs.expectLog({ logger: "pipeline.gap-detection", level: "warn", message: "Permanent gap: *" });
    const pipeline = await openPipeline(t, { samplingInterval: 10 });
    await pipeline.writeMetadata();
    for (const start of [0, 3000]) await pipeline.send(start, 100);
    const resources = await pipeline.resources("dummy");
    const indexer = await started(
      t,
      new DummyIndexer("dummy", resources, { ...quick, gapWarningTimeoutMs: 50 }),
    );
    await until("it is given up", () => indexer.getMetrics().permanent_gaps_detected === 1);
    expect(await gaps(t)).toEqual(["1000-2990 permanent"]);

    await pipeline.write(1000, 100);
    await until("the rest is given up too", () => indexer.getMetrics().permanent_gaps_detected === 2);
    expect(await gaps(t)).toEqual(["2000-2990 permanent"]);
    await until("the file is done", () => indexer.getMetrics().batches_processed === 3);
    expect(indexer.getMetrics()).toMatchObject({ files_recovered: 1, ticks_processed: 300 });
  });

  it("sweeps up a file in a gap given up behind many others", async () => {
    await using t = await setup();
    t.logs.expectLog({ logger: "pipeline.gap-detection", level: "warn", message: "Permanent gap: *" });
    const pipeline = await openPipeline(t);
    await pipeline.writeMetadata();
    for (const n of range(0, 13)) await pipeline.send(n * 20, 10);
    const resources = await pipeline.resources("dummy");
    const indexer = await started(
      t,
      new DummyIndexer("dummy", resources, { ...quick, gapWarningTimeoutMs: 50 }),
    );
    await until("all are given up", () => indexer.getMetrics().permanent_gaps_detected === 12);
    await pipeline.write(230, 10);
    await until("the last is filled", () => indexer.getMetrics().batches_processed === 14);
  });

  it("goes on when a file ends at the last tick that there can be", async () => {
    await using t = await setup();
    const pipeline = await openPipeline(t);
    await pipeline.writeMetadata();
    const { storage, database, coordinator } = await pipeline.resources("unused");
    const { key, tickStart, tickEnd } = await pipeline.write(Number.MAX_SAFE_INTEGER, 0);
    const scout = createBatchCoordinator(database);
    scout.setSimulationRun(runId);
    const filename = key.slice(key.lastIndexOf("/") + 1);
    await scout.setIndexerClass("Scout").registerFiles([{ filename, storageKey: key, tickStart, tickEnd }]);
    const options = { ...quick, source: "discovery" } as const;
    const indexer = await started(t, new DummyIndexer("dummy", { storage, database, coordinator }, options));
    await until("it is done", () => indexer.getMetrics().batches_processed === 1);
    expect(indexer.state).toBe("RUNNING");
  });
});
