import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { runId } from "../../../tests/kit/pipeline.ts";
import { breakable, fast, plant, storageError } from "../../../tests/kit/producer.ts";
import { MetadataInfoSchema, SimulationMetadataSchema } from "../../contracts/index.ts";
import type { FileSystemStorage } from "../../storage/index.ts";
import { setup, type TestContext } from "../../testing/index.ts";
import type { TopicWriter } from "../../topics/index.ts";
import { MetadataPersistenceService, MetadataQueue } from "../index.ts";

describe("MetadataPersistenceService", () => {
  const metadata = create(SimulationMetadataSchema, {
    simulationRunId: runId,
    initialSeed: 5n,
    samplingInterval: 10,
  });

  async function metadataPlant(t: TestContext) {
    const { storage, topics } = await plant(t);
    const topic = await topics.writer(MetadataInfoSchema, { topic: "metadata-topic" });
    const reader = await topics.reader(MetadataInfoSchema, { topic: "metadata-topic", group: "test", runId });
    return { storage, topic, reader, queue: new MetadataQueue() };
  }

  it("writes metadata and announces it; the same again is not announced, changed metadata is", async () => {
    await using t = await setup();
    const { storage, topic, reader, queue } = await metadataPlant(t);
    await using service = new MetadataPersistenceService("metadata", { queue, storage, topic });
    await service.start();
    for (const declaredEndTick of [90n, 90n, 190n]) await queue.offer({ ...metadata, declaredEndTick });
    await queue.whenEmpty();
    await service.stop();
    const messages = await reader.pollMany(10, 0);
    expect(messages.map(({ payload }) => [payload.simulationRunId, payload.storageKey])).toEqual([
      [runId, "run-1/metadata.pb"],
      [runId, "run-1/metadata.pb"],
    ]);
    expect(await storage.readMessage("run-1/metadata.pb", SimulationMetadataSchema)).toMatchObject({
      initialSeed: 5n,
      declaredEndTick: 190n,
    });
    expect(service.getMetrics()).toMatchObject({ metadata_written: 3 });
  });

  it("announces nothing while the write fails, and repeats an announcement that failed", async () => {
    await using t = await setup();
    const { storage, topic, reader, queue } = await metadataPlant(t);
    let failures = 2;
    const writeMessage = (...args: Parameters<FileSystemStorage["writeMessage"]>) =>
      failures-- > 0 ? Promise.reject(storageError()) : storage.writeMessage(...args);
    const broken = breakable(topic as TopicWriter<never>);
    const resources = { queue, storage: { writeMessage } as FileSystemStorage, topic: broken.topic };
    await using service = new MetadataPersistenceService("metadata", resources, fast);
    await queue.offer(metadata);
    await service.start();
    await expect.poll(() => service.getMetrics().notifications_failed).toBeGreaterThan(0);
    expect([service.getMetrics().write_errors, await reader.pollMany(10, 0)]).toEqual([2, []]);
    broken.mend();
    expect(await reader.pollMany(10, 20_000)).toHaveLength(1);
  });
});
