import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { TcpProxy } from "../../../tests/helpers/tcp-proxy.ts";
import { until } from "../../../tests/kit/pipeline.ts";
import { MetadataInfoSchema, SimulationMetadataSchema } from "../../contracts/index.ts";
import { MetadataReader } from "../../coordination/index.ts";
import { FileSystemStorage, metadataKey } from "../../storage/index.ts";
import { setup, type TestContext } from "../../testing/index.ts";
import { PostgresTopics } from "../../topics/index.ts";
import { MetadataIndexer } from "../index.ts";

const runId = "run-1";

async function open(
  t: TestContext,
  options: Partial<ConstructorParameters<typeof MetadataIndexer>[2]> = {},
  database = t.database,
) {
  const storage = t.use(new FileSystemStorage({ rootDirectory: await t.temporaryFolder() }));
  const topics = t.use(new PostgresTopics(t.database));
  const writer = await topics.writer(MetadataInfoSchema, { topic: "metadata-topic", runId });
  const topic = await topics.reader(MetadataInfoSchema, {
    topic: "metadata-topic",
    group: "metadata-indexer",
  });
  const write = (declaredEndTick?: number) =>
    storage.writeMessage(
      metadataKey(runId),
      SimulationMetadataSchema,
      create(SimulationMetadataSchema, {
        simulationRunId: runId,
        samplingInterval: 10,
        ...(declaredEndTick && { declaredEndTick: BigInt(declaredEndTick) }),
      }),
    );
  const announce = (storageKey = metadataKey(runId)) =>
    writer.send(create(MetadataInfoSchema, { simulationRunId: runId, storageKey }));
  const resources = { storage, database, topic };
  const indexer = t.use(
    new MetadataIndexer("metadata-indexer", resources, {
      pollIntervalMs: 10,
      topicPollTimeoutMs: 30_000,
      ...options,
    }),
  );
  return { indexer, topics, write, announce, reader: new MetadataReader(t.database) };
}

describe("MetadataIndexer", () => {
  it("writes announced metadata of the first run that begins after it, and what is added later", async () => {
    await using t = await setup();
    const { indexer, topics, write, announce, reader } = await open(t);
    await indexer.start();
    await write();
    await announce();
    await until("it is indexed", () => reader.hasMetadata(runId));
    await write(990);
    await announce();
    await until("the end is known", async () => (await reader.getMetadata(runId)).declaredEndTick === 990n);
    const [group] = await topics.listGroups("metadata-topic");
    expect(group?.messages).toBe(0);
    expect(indexer.runId).toBe(runId);
  });

  it("moves to the dead letters what announces no metadata of its run, and goes on", async () => {
    await using t = await setup();
    t.logs.expectLog({ logger: "pipeline.intake", level: "warn", message: "Moved to the dead letters: *" });
    const { indexer, topics, write, announce, reader } = await open(t);
    await write();
    await announce();
    await t.database.query("UPDATE tallyman.topic_message SET payload = '\\x0affffffff0f41'");
    for (const key of ["", "../../etc/passwd", metadataKey("run-2")]) await announce(key);
    await announce();
    await indexer.start();
    await until("the good one is indexed", () => reader.hasMetadata(runId));
    expect(indexer.state).toBe("RUNNING");
    const [group] = await topics.listGroups("metadata-topic");
    expect(group?.messages).toBe(0);
    const letters = (await topics.listTopics()).find(({ name }) => name === "metadata-topic-dead-letters");
    expect(letters?.messages).toBe(4);
  });

  it("waits for a database that is away, and goes on when it is back", async () => {
    await using t = await setup();
    const { proxy, url } = await TcpProxy.start(t.url);
    t.use(proxy);
    t.logs.expectLog({ logger: "metadata-indexer", level: "warn", message: "Waiting for database*" });
    const { indexer, write, announce, reader } = await open(t, {}, await t.connect({ url, listenUrl: null }));
    proxy.goDown();
    await indexer.start();
    await write();
    await announce();
    await until("it has met the outage", () => t.logs.records.some(({ level }) => level === "warn"));
    proxy.comeUp();
    await until("it is indexed", () => reader.hasMetadata(runId));
    expect(indexer.state).toBe("RUNNING");
  });

  it("finds metadata whose announcement got lost", async () => {
    await using t = await setup();
    const { indexer, write, reader } = await open(t, { topicPollTimeoutMs: 50 });
    await write();
    await indexer.start();
    await until("it is indexed", () => reader.hasMetadata(runId));
    expect(indexer.state).toBe("RUNNING");
  });

  it("finds the end of the run when its second announcement got lost, and then asks no more", async () => {
    await using t = await setup();
    const { indexer, write, announce, reader } = await open(t, { topicPollTimeoutMs: 20 });
    await write();
    await announce();
    await indexer.start();
    await until("it is indexed", () => reader.hasMetadata(runId));
    await write(990);
    await until("the end is known", async () => (await reader.getMetadata(runId)).declaredEndTick === 990n);
    await until("it is counted", () => indexer.getMetrics().metadata_indexed === 2);
    await write(1_990);
    await announce();
    await until("what is announced still counts", () => indexer.getMetrics().metadata_indexed === 3);
    expect(indexer.state).toBe("RUNNING");
  });

  it("fails with a clear error when there is none", async () => {
    await using t = await setup();
    t.logs.expectLog({
      logger: "metadata-indexer",
      level: "error",
      message: "Failed: The metadata of run run-1 was not *",
    });
    const { indexer } = await open(t, { runId, topicPollTimeoutMs: 20 });
    const storage = new FileSystemStorage({
      rootDirectory: (indexer as unknown as { storage: { place: string } }).storage.place,
    });
    await storage.writeBatch(runId, 0, 0, [Buffer.from("x")]);
    await indexer.start();
    await until("it has failed", () => indexer.state === "ERROR");
    expect(indexer.failure).toMatchObject({ code: "METADATA_TIMEOUT" });
  });

  it("fails with a clear error when its run is missing", async () => {
    await using t = await setup();
    t.logs.expectLog({
      logger: "metadata-indexer",
      level: "error",
      message: "Failed: Run run-9 has no files *",
    });
    const { indexer } = await open(t, { runId: "run-9", maxPollDurationMs: 30 });
    await indexer.start();
    await until("it has failed", () => indexer.state === "ERROR");
    expect(indexer.failure).toMatchObject({ code: "RUN_NOT_FOUND" });
  });
});
