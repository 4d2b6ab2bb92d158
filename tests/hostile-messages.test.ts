import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  BatchInfoSchema,
  MetadataInfoSchema,
  SimulationMetadataSchema,
  TickDataSchema,
} from "../src/contracts/index.ts";
import { MetadataReader } from "../src/coordination/index.ts";
import { DeadLetterQueue, EnvironmentIndexer, MetadataIndexer } from "../src/pipeline/index.ts";
import { batchKey } from "../src/storage/batch-file.ts";
import { metadataKey } from "../src/storage/index.ts";
import { hostileKeys, setup, type TestContext } from "../src/testing/index.ts";
import type { PostgresTopics } from "../src/topics/index.ts";
import { randomFrom } from "./helpers/chaos.ts";
import { startChild } from "./kit/children.ts";
import { bombs, forge } from "./kit/forged-file.ts";
import { hostileMessages, randomMessages } from "./kit/hostile-protobuf.ts";
import { announcement, lagOf, openPipeline, quick, runId, started, until } from "./kit/pipeline.ts";

/** Fixed, so that a failure is the same everywhere; HOSTILE_MESSAGES and HOSTILE_SEED widen the search. */
const seed = Number(process.env.HOSTILE_SEED ?? 20261116);
const randomCount = Number(process.env.HOSTILE_MESSAGES ?? 300);
/** The storage's own tests refuse them all; here a sample shows what becomes of who announces them. */
const keys = hostileKeys().filter((_, index) => index % 5 === 0);
/** What a file's largest tick takes, twice, and a file's largest record. */
const bombGrowthMbMax = 1_000;

/** A pipeline whose indexer gives up at once what it can't index, and says so in this log. */
async function open(t: TestContext, logger: "pipeline.intake" | "pipeline.failures") {
  t.logs.expectLog({ logger, level: "warn", message: "Moved to the dead letters: *" });
  const pipeline = await openPipeline(t);
  await pipeline.writeMetadata();
  const deadLetters = await DeadLetterQueue.open(pipeline.topics, {
    topic: "batch-topic-dead-letters",
    capacity: 1_000_000,
  });
  const start = async () => {
    const resources = { ...(await pipeline.resources("env")), deadLetters };
    return started(t, new EnvironmentIndexer("env", resources, { ...quick, maxRetries: 1 }));
  };
  await pipeline.reader("env");
  return { pipeline, deadLetters, start };
}

/** Puts messages on a topic whose bytes no writer of it would send. */
async function publishBytes(t: TestContext, topic: string, messages: readonly Uint8Array[]): Promise<void> {
  for (const bytes of messages)
    await t.database.query(
      `WITH message AS (
         INSERT INTO tallyman.topic_message (topic_id, run_id, payload)
         SELECT topic_id, $2, $3 FROM tallyman.topic WHERE name = $1 RETURNING topic_id, message_id
       )
       INSERT INTO tallyman.topic_delivery (group_id, message_id, run_id)
       SELECT group_id, message_id, $2 FROM message JOIN tallyman.topic_group USING (topic_id)`,
      [topic, runId, bytes],
    );
}

/** Waits until the indexer has settled every announcement: many, one after the other. */
async function settled(topics: PostgresTopics): Promise<void> {
  await expect.poll(() => lagOf(topics, "env"), { timeout: 120_000 }).toBe(0);
}

async function countCells(t: TestContext): Promise<number> {
  const { rows } = await t.database
    .forRun("sim_run_1")
    .query<{ cells: number }>("SELECT count(*)::int AS cells FROM sim.environment_data");
  return rows[0]?.cells ?? 0;
}

describe("hostile announcements", () => {
  it("of every kind join the dead letters, while their neighbours are indexed", async () => {
    await using t = await setup();
    const { pipeline, deadLetters, start } = await open(t, "pipeline.intake");
    await pipeline.send(0, 10);
    await publishBytes(t, "batch-topic", Object.values(hostileMessages));
    await pipeline.announce({ ...(await pipeline.write(10, 10)), bytes: 2 ** 63 - 1024, crc: 0 });
    const file = await pipeline.write(20, 10);
    const topic = await pipeline.topics.writer(BatchInfoSchema, { topic: "batch-topic", runId });
    for (const key of keys) await topic.send(announcement({ ...file, key }));
    await pipeline.announce(file);
    const indexer = await start();
    await settled(pipeline.topics);
    expect(await countCells(t)).toBe(30);
    expect(await deadLetters.count()).toBe(Object.keys(hostileMessages).length + keys.length);
    expect(indexer.state).toBe("RUNNING");
  });

  it(`of random bytes (${randomCount}, seed ${seed}) stop nobody`, {
    timeout: 180_000 + randomCount * 50,
  }, async () => {
    await using t = await setup();
    const { pipeline, deadLetters, start } = await open(t, "pipeline.intake");
    await pipeline.send(0, 10);
    await publishBytes(t, "batch-topic", randomMessages(randomCount, randomFrom(seed)));
    await pipeline.send(10, 10);
    const indexer = await start();
    await settled(pipeline.topics);
    expect(await countCells(t)).toBe(20);
    expect(await deadLetters.count()).toBe(randomCount);
    expect(indexer.state).toBe("RUNNING");
  });

  it("of metadata join the dead letters, and the next one is taken", async () => {
    await using t = await setup();
    t.logs.expectLog({ logger: "pipeline.intake", level: "warn", message: "Moved to the dead letters: *" });
    const { storage, topics } = await openPipeline(t);
    const metadata = create(SimulationMetadataSchema, { simulationRunId: runId, samplingInterval: 10 });
    const writer = await topics.writer(MetadataInfoSchema, { topic: "metadata-topic", runId });
    const topic = await topics.reader(MetadataInfoSchema, { topic: "metadata-topic", group: "metadata" });
    const announce = (storageKey: string) => writer.send(create(MetadataInfoSchema, { storageKey }));
    await publishBytes(t, "metadata-topic", Object.values(hostileMessages));
    for (const key of keys) await announce(key);
    await storage.writeMessage("run-2/metadata.pb", SimulationMetadataSchema, metadata);
    await announce("run-2/metadata.pb");
    await announce(`${runId}/missing.pb`);
    await storage.writeMessage(metadataKey(runId), SimulationMetadataSchema, metadata);
    await writeFile(join(storage.place, metadataKey(runId)), "no message file, but long enough to be read");
    await announce(metadataKey(runId));
    const indexer = t.use(
      new MetadataIndexer("metadata", { storage, database: t.database, topic }, { runId }),
    );
    await indexer.start();
    const bad = Object.keys(hostileMessages).length + keys.length + 3;
    await until("all of them are dead letters", async () => {
      const letters = (await topics.listTopics()).find(({ name }) => name === "metadata-topic-dead-letters");
      return letters?.messages === bad;
    });
    await storage.writeMessage(metadataKey(runId), SimulationMetadataSchema, metadata);
    await announce(metadataKey(runId));
    await until("it is indexed", () => new MetadataReader(t.database).hasMetadata(runId));
    expect((await new MetadataReader(t.database).getMetadata(runId)).samplingInterval).toBe(10);
    expect(indexer.state).toBe("RUNNING");
  });
});

describe("hostile batch files", () => {
  it("whose records are no ticks join the dead letters, while their neighbours are indexed", async () => {
    await using t = await setup();
    t.logs.expectLog({ logger: "pipeline.failures", level: "warn", message: "Failed to index *" });
    const { pipeline, deadLetters, start } = await open(t, "pipeline.failures");
    const random = randomMessages(50, randomFrom(seed));
    const isTick = (bytes: Uint8Array) => bytes.length > 0 && bytes[0] !== 0;
    const records = [...Object.values(hostileMessages), ...random].filter(isTick);
    await pipeline.send(0, 10);
    for (const [index, record] of records.entries()) {
      const tick = 100 + index;
      const options = { schema: TickDataSchema };
      await pipeline.announce(await pipeline.storage.writeBatch(runId, tick, tick, [record], options));
    }
    await pipeline.send(10, 10);
    const indexer = await start();
    await settled(pipeline.topics);
    expect(await countCells(t)).toBe(20);
    expect(await deadLetters.count()).toBeGreaterThan(0);
    expect(indexer.state).toBe("RUNNING");
  });

  it(`that are bombs are refused, and let the process grow by less than ${bombGrowthMbMax} MB`, {
    timeout: 120_000,
  }, async () => {
    await using t = await setup();
    const root = await t.temporaryFolder();
    const all = [
      ...Object.values(bombs).map((make) => ({ codec: "brotli", blocks: make("brotli") }) as const),
      { codec: "gzip", blocks: bombs["gigabytes in many blocks"]?.("gzip") ?? [] } as const,
    ];
    for (const [index, { codec, blocks }] of all.entries()) {
      const ticks = { tickStart: index, tickEnd: index };
      const bytes = forge(codec, blocks, ticks);
      expect(bytes.length).toBeLessThan(4_000_000);
      await store(root, batchKey({ runId, codec, ...ticks }), bytes);
    }
    await using child = startChild(new URL("./children/bomb.child.ts", import.meta.url), { args: [root] });
    expect(await child.exit).toEqual({ code: 0, signal: null });
    const outcomes = child.lines.filter((line) => line.startsWith("outcome "));
    expect(outcomes).toEqual(all.map((_, index) => `outcome ${index} BATCH_CORRUPT`));
    const peak = Number((await child.line("peak ")).split(" ")[1]);
    expect(peak).toBeLessThan(bombGrowthMbMax);
  });
});

async function store(root: string, key: string, bytes: Buffer): Promise<void> {
  await mkdir(dirname(join(root, key)), { recursive: true });
  await writeFile(join(root, key), bytes);
}
