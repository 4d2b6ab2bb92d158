import { describe, expect, it } from "vitest";
import { expectRefusals, openServer } from "../../tests/kit/api.ts";
import { openPipeline, quick, runId } from "../../tests/kit/pipeline.ts";
import { createBatchCoordinator, MetadataWriter } from "../coordination/index.ts";
import { DummyIndexer } from "../pipeline/index.ts";
import { setup, type TestContext } from "../testing/index.ts";

const indexerClass = "Dummy";
const samplingInterval = 10;
const params = { runId };

/** Ticks 0 to 4990: a completed file, a failed one, a gap, one in flight, and a tail that is missing for good. */
async function prepare(t: TestContext) {
  const { writeMetadata } = await openPipeline(t, { samplingInterval });
  await writeMetadata(4_990);
  const coordinator = createBatchCoordinator(t.database, { instanceId: "indexer-1" });
  coordinator.setSimulationRun(runId);
  const ready = coordinator.setIndexerClass(indexerClass);
  const files = [0, 1, 3].map((thousand) => ({
    filename: `f${thousand}`,
    storageKey: `f${thousand}`,
    tickStart: thousand * 1_000,
    tickEnd: thousand * 1_000 + 990,
  }));
  await ready.registerFiles(files);
  await ready.tryClaim("f0", 0, 990);
  await ready.markCompleted("f0");
  await ready.tryClaim("f1", 1_000, 1_990);
  await ready.markFailed("f1", "division by zero");
  await ready.reconcileGaps({ samplingInterval, declaredEnd: 4_990 });
  await ready.markGapPermanent(4_000);
}

const none = { indexed: 0, in_flight: 0, failed: 0, pending: 0, permanent: 0, missing: 0 };

describe("runs over HTTP", () => {
  it("lists runs, the newest first, page by page", async () => {
    await using t = await setup();
    const { client } = await openServer(t);
    await prepare(t);
    const writer = new MetadataWriter(t.database);
    await writer.createSimulationRun("run-2");
    const first = await client.call("GET /api/runs", { query: { limit: 1 } });
    expect(first).toMatchObject({
      items: [{ runId: "run-2", metadata: null, indexerClasses: [] }],
      nextCursor: "run-2",
    });
    const second = await client.call("GET /api/runs", { query: { cursor: "run-2" } });
    expect(second).toMatchObject({
      items: [
        {
          runId,
          schema: "sim_run_1",
          indexerClasses: [indexerClass],
          metadata: { samplingInterval, declaredEndTick: 4_990, worldShape: [] },
        },
      ],
      nextCursor: null,
    });
    expect(await client.call("GET /api/runs/:runId", { params })).toEqual(second.items[0]);
    await t.database.query("DROP SCHEMA sim_run_2 CASCADE");
    expect((await client.call("GET /api/runs")).items).toHaveLength(1);
  });

  it("accounts for every tick, in as many buckets as asked for", async () => {
    await using t = await setup();
    const { client } = await openServer(t);
    await prepare(t);
    const ticks = (query: object) => client.call("GET /api/runs/:runId/ticks", { params, query });
    expect(await ticks({ buckets: 5 })).toEqual([
      {
        indexerClass,
        samplingInterval,
        endDeclared: true,
        expected: 500,
        counts: { indexed: 100, failed: 100, pending: 100, in_flight: 100, permanent: 100 },
        unaccounted: 0,
        buckets: [
          { ...none, start: 0, end: 990, indexed: 100 },
          { ...none, start: 1_000, end: 1_990, failed: 100 },
          { ...none, start: 2_000, end: 2_990, pending: 100 },
          { ...none, start: 3_000, end: 3_990, in_flight: 100 },
          { ...none, start: 4_000, end: 4_990, permanent: 100 },
        ],
      },
    ]);
    const [usual] = await ticks({});
    expect(usual?.buckets).toHaveLength(200);
    const [part] = await ticks({ indexerClass, from: 1_900, to: 2_090, buckets: 1 });
    expect(part?.buckets).toEqual([{ ...none, start: 1_900, end: 2_090, failed: 10, pending: 10 }]);
  });

  it("lists gaps, claims and failed files, and lets files be tried again", async () => {
    await using t = await setup();
    const { client } = await openServer(t);
    await prepare(t);
    const gaps = (query: object) =>
      client.call("GET /api/runs/:runId/gaps", { params, query: { indexerClass, ...query } });
    const first = await gaps({ limit: 1 });
    expect(first).toMatchObject({
      items: [{ gapStartTick: 2_000, gapEndTick: 2_990, status: "pending" }],
      nextCursor: "2000",
    });
    const rest = await gaps({ cursor: 2_000 });
    expect(rest).toMatchObject({ items: [{ gapStartTick: 4_000, status: "permanent" }], nextCursor: null });
    expect((await gaps({ status: "permanent" })).items).toEqual(rest.items);

    expect(await client.call("GET /api/runs/:runId/claims", { params })).toEqual([
      { indexerClass, status: "completed", instanceId: "indexer-1", files: 1 },
      { indexerClass, status: "failed", instanceId: "indexer-1", files: 1 },
    ]);
    const failedFiles = (cursor?: string) =>
      client.call("GET /api/runs/:runId/failed-files", {
        params,
        query: { indexerClass, ...(cursor && { cursor }) },
      });
    expect(await failedFiles()).toMatchObject({
      items: [{ filename: "f1", tickStart: 1_000, error: "division by zero", attempts: 1 }],
    });
    expect((await failedFiles("f1")).items).toEqual([]);

    const retry = (body: object) =>
      client.call("POST /api/runs/:runId/retry", { params, body: { indexerClass, ...body } });
    expect(await retry({ errorContains: "out of memory" })).toEqual({ files: 0, messages: 0 });
    await expect(retry({ topic: "nothing" })).rejects.toMatchObject({ code: "TOPIC_NOT_FOUND" });
    expect((await failedFiles()).items).toHaveLength(1);
    expect(await retry({ topic: "batch-topic", reason: "mended" })).toEqual({ files: 1, messages: 0 });
    expect((await failedFiles()).items).toEqual([]);
    const { items } = await client.call("GET /api/actions");
    expect(items[0]).toMatchObject({
      action: "run.retry",
      target: { runId, indexerClass, topic: "batch-topic" },
      changed: 1,
      reason: "mended",
    });
  });

  it("begins an indexer's work anew", async () => {
    await using t = await setup();
    const { client } = await openServer(t);
    const pipeline = await openPipeline(t);
    await pipeline.writeMetadata(9);
    await pipeline.send(0, 10);
    // Its lease is long: a short one may end in the midst of a slow flush, and a sweep would warn of that.
    const resources = {
      ...(await pipeline.resources("dummy")),
      coordinator: createBatchCoordinator(t.database),
    };
    const indexer = t.use(new DummyIndexer("dummy", resources, quick));
    await indexer.start();
    const indexed = async () => {
      const [account] = await client.call("GET /api/runs/:runId/ticks", { params });
      return account?.counts.indexed;
    };
    await expect.poll(indexed, { timeout: 20_000 }).toBe(10);
    await indexer.stop();
    const name = "DummyIndexer";
    const answer = await client.call("POST /api/runs/:runId/reindex", {
      params,
      body: { indexerClass: name, topic: "batch-topic" },
    });
    expect(answer).toEqual({ indexerClass: name, tables: [] });
    expect(await client.call("GET /api/runs/:runId/claims", { params })).toEqual([]);
    expect(await pipeline.topics.listGroups("batch-topic")).toMatchObject([{ messages: 1 }]);
  });

  it("says what is wrong, with the field", async () => {
    await using t = await setup();
    const { server } = await openServer(t);
    await prepare(t);
    const run = "GET /api/runs/run-1";
    await expectRefusals(server, [
      ["GET /api/runs/nothing", undefined, 404, "RUN_NOT_FOUND"],
      ["GET /api/runs/nothing/ticks", undefined, 404, "RUN_NOT_FOUND"],
      ["GET /api/runs/nothing/gaps?indexerClass=Dummy", undefined, 404, "RUN_NOT_FOUND"],
      ["GET /api/runs/nothing/claims", undefined, 404, "RUN_NOT_FOUND"],
      ["POST /api/runs/nothing/retry", { indexerClass }, 404, "RUN_NOT_FOUND"],
      ["POST /api/runs/nothing/reindex", { indexerClass }, 404, "RUN_NOT_FOUND"],
      ["POST /api/runs/run-1/retry", { indexerClass: "Nobody" }, 404, "INDEXER_NOT_FOUND"],
      ["POST /api/runs/run-1/reindex", { indexerClass: "Nobody" }, 404, "INDEXER_NOT_FOUND"],
      [`${run}/ticks?indexerClass=Nobody`, undefined, 404, "INDEXER_NOT_FOUND"],
      [`${run}/failed-files?indexerClass=Nobody`, undefined, 404, "INDEXER_NOT_FOUND"],
      ["GET /api/runs/..%2F..%2Fetc", undefined, 400, "runId"],
      ["GET /api/runs/a%22%3B%20DROP%20TABLE%20x/ticks", undefined, 400, "runId"],
      [`GET /api/runs/${"x".repeat(101)}/claims`, undefined, 400, "runId"],
      [`${run}/gaps`, undefined, 400, "indexerClass"],
      [`${run}/gaps?indexerClass=a%00`, undefined, 400, "indexerClass"],
      [`${run}/gaps?indexerClass=Dummy&cursor=9007199254740993`, undefined, 400, "cursor"],
      [`${run}/ticks?from=-1`, undefined, 400, "from"],
      [`${run}/ticks?to=1e300`, undefined, 400, "to"],
      [`${run}/ticks?from=10&to=9`, undefined, 400, "to"],
      [`${run}/ticks?buckets=1001`, undefined, 400, "buckets"],
      ["POST /api/runs/run-1/retry", {}, 400, "indexerClass"],
      ["POST /api/runs/run-1/retry", { indexerClass, tickStart: 1.5 }, 400, "tickStart"],
      ["POST /api/runs/run-1/reindex", { indexerClass, topic: "a b" }, 400, "topic"],
    ]);
  });
});
