import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { SimulationMetadataSchema } from "../contracts/index.ts";
import { ensureRunSchema } from "../database/index.ts";
import { setup } from "../testing/index.ts";
import {
  DatabaseIdempotencyTracker,
  type IdempotencyTracker,
  InMemoryIdempotencyTracker,
  MetadataReader,
  MetadataWriter,
} from "./index.ts";

const metadata = create(SimulationMetadataSchema, {
  simulationRunId: "run-1",
  startTimeMs: 1_760_000_000_000n,
  initialSeed: 9_223_372_036_854_775_807n,
  samplingInterval: 10,
  environment: { dimensions: 2, shape: [64, 32], toroidal: [true, false] },
  declaredEndTick: 9_990n,
});

describe("metadata", () => {
  it("comes back as it was written, 64-bit seed included", async () => {
    await using t = await setup();
    await new MetadataWriter(t.database).insertMetadata("run-1", metadata);
    const reader = new MetadataReader(t.database);
    expect(await reader.getMetadata("run-1")).toEqual(metadata);
    expect(reader.getMetrics()).toMatchObject({ metadata_reads: 1, metadata_not_found: 0, read_errors: 0 });
  });

  it("a sampling interval that is absent means 1", async () => {
    await using t = await setup();
    const bare = create(SimulationMetadataSchema, { simulationRunId: "run-1" });
    await new MetadataWriter(t.database).insertMetadata("run-1", bare);
    expect(await new MetadataReader(t.database).getMetadata("run-1")).toMatchObject({ samplingInterval: 1 });
  });

  it("is there only when it is there: not for an unknown run, not for a bare schema", async () => {
    await using t = await setup();
    const reader = new MetadataReader(t.database);
    expect(await reader.hasMetadata("run-1")).toBe(false);
    await expect(reader.getMetadata("run-1")).rejects.toMatchObject({
      name: "MetadataNotFoundError",
      details: { runId: "run-1" },
    });
    const { rows } = await t.database.query("SELECT to_regnamespace('sim_run_1') AS found");
    expect(rows).toEqual([{ found: null }]);
    await ensureRunSchema(t.database, "run-1");
    expect(await reader.hasMetadata("run-1")).toBe(false);
    await new MetadataWriter(t.database).insertMetadata("run-1", metadata);
    expect(await reader.hasMetadata("run-1")).toBe(true);
    expect(reader.getMetrics()).toMatchObject({ metadata_not_found: 1 });
  });

  it("is written with the caller's transaction, or not at all", async () => {
    await using t = await setup();
    const writer = new MetadataWriter(t.database);
    await writer.createSimulationRun("run-1");
    const failing = t.database.transaction(async (tx) => {
      await writer.insertMetadata("run-1", metadata, { tx });
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    expect(await new MetadataReader(t.database).hasMetadata("run-1")).toBe(false);
  });

  it.each([
    ["names another run", { simulationRunId: "run-2" }],
    ["has an interval of 0", { samplingInterval: 0 }],
    ["has a negative interval", { samplingInterval: -1 }],
    ["ends before it begins", { declaredEndTick: -1n }],
    ["ends beyond all numbers", { declaredEndTick: 2n ** 63n - 1n }],
  ])("is refused when it %s, and nothing is written", async (_, lie) => {
    await using t = await setup();
    const writer = new MetadataWriter(t.database);
    await expect(writer.insertMetadata("run-1", { ...metadata, ...lie })).rejects.toMatchObject({
      code: "METADATA_INVALID",
    });
    expect(await new MetadataReader(t.database).hasMetadata("run-1")).toBe(false);
  });

  it("reports a database error as one", async () => {
    await using t = await setup();
    await ensureRunSchema(t.database, "run-1");
    await t.database.query("ALTER TABLE sim_run_1.metadata RENAME COLUMN value TO renamed");
    const reader = new MetadataReader(t.database);
    await expect(reader.hasMetadata("run-1")).rejects.toThrow(/value/);
    expect(reader.getErrors()).toMatchObject([{ code: "HAS_METADATA_FAILED" }]);
    expect(reader.getMetrics()).toMatchObject({ read_errors: 1, error_count: 1 });
  });
});

describe("idempotency trackers", () => {
  const inDatabase = async (t: Awaited<ReturnType<typeof setup>>): Promise<IdempotencyTracker> => {
    const tracker = new DatabaseIdempotencyTracker(t.database);
    tracker.setSimulationRun("run-1");
    return tracker;
  };

  it.each([
    ["database", inDatabase],
    ["memory", async () => new InMemoryIdempotencyTracker()],
  ])("remember per class what was processed (%s)", async (_name, open) => {
    await using t = await setup();
    const tracker = await open(t);
    expect(await tracker.isProcessed("Dummy", "batch-1")).toBe(false);
    await tracker.markProcessed("Dummy", "batch-1");
    await tracker.markProcessed("Dummy", "batch-1");
    expect(await tracker.isProcessed("Dummy", "batch-1")).toBe(true);
    expect(await tracker.isProcessed("Other", "batch-1")).toBe(false);
  });

  it("in memory forget the oldest beyond their bound", async () => {
    const tracker = new InMemoryIdempotencyTracker(2);
    for (const batch of ["a", "b", "c"]) await tracker.markProcessed("Dummy", batch);
    expect(await Promise.all(["a", "b", "c"].map((batch) => tracker.isProcessed("Dummy", batch)))).toEqual([
      false,
      true,
      true,
    ]);
  });
});
