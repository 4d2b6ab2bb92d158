import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { lagOf, openPipeline, runId, started, until } from "../../../tests/kit/pipeline.ts";
import { SimulationMetadataSchema } from "../../contracts/index.ts";
import { metadataKey } from "../../storage/index.ts";
import { setup, type TestContext } from "../../testing/index.ts";
import { EnvironmentIndexer, OrganismIndexer, reindex, StatisticsIndexer } from "../index.ts";

const quick = {
  runId,
  pollIntervalMs: 20,
  metadataPollIntervalMs: 10,
  sweepIntervalMs: 50,
  flushTimeoutMs: 20,
};
const kinds = { environment: EnvironmentIndexer, organisms: OrganismIndexer, statistics: StatisticsIndexer };
const tables = ["environment_data", "organisms", "organism_data", "tick_statistics"];

/** All rows of all indexed tables, and how many ticks each has. */
async function contents(t: TestContext) {
  const sim = t.database.forRun("sim_run_1");
  const dump = async (table: string) => {
    const { rows } = await sim.query(`SELECT x::text AS row FROM sim.${table} x ORDER BY 1`);
    return rows.map(({ row }) => row);
  };
  return Object.fromEntries(await Promise.all(tables.map(async (table) => [table, await dump(table)])));
}

async function open(t: TestContext) {
  const pipeline = await openPipeline(t);
  await pipeline.writeMetadata();
  await pipeline.storage.writeMessage(
    metadataKey(runId),
    SimulationMetadataSchema,
    create(SimulationMetadataSchema, { simulationRunId: runId, samplingInterval: 1 }),
  );
  const start = async (name: keyof typeof kinds, options = {}) =>
    started(t, new kinds[name](name, await pipeline.resources(name), { ...quick, ...options }));
  return { ...pipeline, start };
}

describe("the indexers", () => {
  it("write all ticks to their tables, the same whether they are interrupted or not", async () => {
    await using t = await setup();
    const pipeline = await open(t);
    const starts = Array.from({ length: 12 }, (_, n) => n * 50);
    for (const start of starts) await pipeline.send(start, 50);
    const names = Object.keys(kinds) as (keyof typeof kinds)[];
    const all = await Promise.all(names.map((name) => pipeline.start(name)));
    await until("all is indexed", () => all.every((indexer) => indexer.getMetrics().ticks_processed === 600));
    const uninterrupted = await contents(t);
    expect(uninterrupted.environment_data).toHaveLength(600);
    expect(uninterrupted.organism_data).toHaveLength(600);
    expect(uninterrupted.organisms).toHaveLength(3);
    expect(uninterrupted.tick_statistics).toHaveLength(600);
    for (const indexer of all) await indexer.stop();

    const scope = { runId, topic: "batch-topic" };
    for (const { name: indexerClass } of Object.values(kinds))
      await reindex(t.database, pipeline.topics, { ...scope, indexerClass });
    expect((await contents(t)).environment_data).toEqual([]);
    for (const name of names) {
      while ((await lagOf(pipeline.topics, name)) > 0) {
        const indexer = await pipeline.start(name, { insertBatchSize: 35 });
        await until("some of it is indexed", async () => {
          const isDone = (await lagOf(pipeline.topics, name)) === 0;
          return isDone || (indexer.getMetrics().ticks_processed ?? 0) >= 35;
        });
        await indexer.stop();
      }
    }
    expect(await contents(t)).toEqual(uninterrupted);
  });

  it("refuse a second group that would write the same tables", async () => {
    await using t = await setup();
    t.logs.expectLog({
      logger: "second",
      level: "error",
      message: "Failed: EnvironmentIndexer with group 'other' *",
    });
    const pipeline = await open(t);
    await pipeline.send(0, 5);
    const first = await pipeline.start("environment");
    await until("it is done", () => first.getMetrics().batches_processed === 1);
    const second = t.use(new EnvironmentIndexer("second", await pipeline.resources("other"), quick));
    await second.start();
    await until("it has failed", () => second.state === "ERROR");
    expect(second.failure).toMatchObject({ code: "INDEXER_GROUP_CONFLICT" });
  });

  it("begin anew while they run", async () => {
    await using t = await setup();
    const pipeline = await open(t);
    await pipeline.send(0, 5);
    const indexer = await pipeline.start("environment");
    await until("it is done", () => indexer.getMetrics().batches_processed === 1);
    const scope = { runId, indexerClass: "EnvironmentIndexer" };
    await reindex(t.database, pipeline.topics, scope);
    await until("it is done again", () => indexer.getMetrics().batches_processed === 2);
    expect((await contents(t)).environment_data).toHaveLength(5);
    await expect(
      reindex(t.database, pipeline.topics, { ...scope, indexerClass: "Nobody" }),
    ).rejects.toMatchObject({
      code: "INDEXER_NOT_FOUND",
    });
  });
});
