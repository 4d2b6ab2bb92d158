import { fromBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { range, runId } from "../../../tests/kit/pipeline.ts";
import { breakable, failing, fast, offerAll, plant, tick } from "../../../tests/kit/producer.ts";
import { TickDataSchema } from "../../contracts/index.ts";
import { setup } from "../../testing/index.ts";
import type { TopicWriter } from "../../topics/index.ts";

describe("PersistenceService and failing writes", () => {
  it("repeats a write, and announces once it worked", async () => {
    await using t = await setup();
    const { queue, storage, service, announced } = await plant(t);
    const disk = failing(storage, 2);
    const persistence = service(fast, { storage: disk.storage });
    await offerAll(queue, range(0, 5));
    queue.close();
    await persistence.start();
    await queue.whenEmpty();
    await persistence.stop();
    expect([disk.attempts(), await announced()]).toEqual([3, [[0, 4]]]);
    expect(persistence.getMetrics()).toMatchObject({ write_errors: 2, error_count: 2 });
  });

  it("announces nothing, keeps the ticks and ends in ERROR when it goes on failing", async () => {
    await using t = await setup();
    const { queue, storage, service, announced, written } = await plant(t);
    t.logs.expectLog({ logger: "persistence", level: "error", message: "Failed: The disk is away." });
    const disk = failing(storage, 4);
    const persistence = service(
      { ...fast, maxRetries: 3 },
      { storage: disk.storage, deadLetters: undefined },
    );
    await offerAll(queue, range(0, 5));
    queue.close();
    await persistence.start();
    await expect.poll(() => persistence.state).toBe("ERROR");
    expect([persistence.isHealthy(), queue.size, queue.waiting]).toEqual([false, 5, 5]);
    expect(await announced()).toEqual([]);

    await persistence.start();
    await queue.whenEmpty();
    await persistence.stop();
    expect(await written()).toEqual(range(0, 5));
    expect(await announced()).toEqual([[0, 4]]);
  });

  it("sends the ticks to the dead-letter topic when it goes on failing, and works on", async () => {
    await using t = await setup();
    const { queue, storage, service, announced, letters } = await plant(t);
    t.logs.expectLog({
      logger: "persistence",
      level: "warn",
      message: "Dead-lettered ticks 0 to 1 of run run-1*",
    });
    const disk = failing(storage, 2);
    const persistence = service({ ...fast, maxRetries: 1, maxBatchSize: 2 }, { storage: disk.storage });
    await offerAll(queue, range(0, 4));
    queue.close();
    await persistence.start();
    await queue.whenEmpty();
    await persistence.stop();
    expect(await announced()).toEqual([[2, 3]]);
    const dead = await letters.pollMany(10, 0);
    expect(dead.map(({ payload }) => fromBinary(TickDataSchema, payload.originalMessage).tickNumber)).toEqual(
      [0n, 1n],
    );
    expect(dead[0]?.payload).toMatchObject({
      messageType: TickDataSchema.typeName,
      failureReason: "TallymanError: The disk is away.",
      retryCount: 1,
      sourceService: "persistence",
    });
  });

  it("does not repeat a write that can never succeed", async () => {
    await using t = await setup();
    const { queue, storage, service, letters } = await plant(t);
    t.logs.expectLog({ logger: "persistence", level: "warn", message: "Dead-lettered ticks 0 to 0*" });
    const other = tick(0, { capturedAtMs: 7n });
    await storage.writeBatch(runId, 0, 0, [other], { schema: TickDataSchema });
    await offerAll(queue, [0]);
    const persistence = service({ retryBackoffMs: 60_000, retryBackoffMaxMs: 60_000 });
    await persistence.start();
    await persistence.stop();
    const [letter] = await letters.pollMany(10, 0);
    expect(letter?.payload.failureReason).toContain("exists with other records");
  });

  it("tries once more when it is stopped in the middle of its retries", async () => {
    await using t = await setup();
    const { queue, storage, service, announced } = await plant(t);
    const disk = failing(storage, 1);
    const persistence = service(
      { retryBackoffMs: 60_000, retryBackoffMaxMs: 60_000 },
      { storage: disk.storage },
    );
    await offerAll(queue, [0, 1]);
    queue.close();
    await persistence.start();
    await expect.poll(disk.attempts).toBe(1);
    await persistence.stop();
    expect([disk.attempts(), await announced()]).toEqual([2, [[0, 1]]]);
  });
});

describe("PersistenceService and failing announcements", () => {
  it("repeats them in order while it goes on writing", async () => {
    await using t = await setup();
    const { queue, topic, service, files, announced } = await plant(t);
    const broken = breakable(topic as TopicWriter<never>);
    const persistence = service({ ...fast, maxBatchSize: 2 }, { topic: broken.topic });
    await persistence.start();
    await offerAll(queue, range(0, 6));
    await queue.whenEmpty();
    expect(await files()).toHaveLength(3);
    await expect.poll(() => persistence.getMetrics().notifications_failed).toBeGreaterThan(1);
    expect([persistence.isHealthy(), await announced()]).toEqual([false, []]);
    broken.mend();
    await expect.poll(() => persistence.getMetrics().notifications_sent).toBe(3);
    expect([persistence.isHealthy(), await announced()]).toEqual([true, await files()]);
  });

  it("warns at its end of files that were never announced; storage lists them", async () => {
    await using t = await setup();
    const { queue, topic, service, files } = await plant(t);
    t.logs.expectLog({ logger: "persistence", level: "warn", message: "Could not announce 1 file(s)*" });
    const persistence = service(fast, { topic: breakable(topic as TopicWriter<never>).topic });
    await offerAll(queue, [0, 1]);
    await persistence.start();
    await persistence.stop();
    expect([persistence.state, await files()]).toEqual(["STOPPED", [[0, 1]]]);
  });

  it("warns once that no topic is bound, and only writes", async () => {
    await using t = await setup();
    const { queue, service, files } = await plant(t);
    t.logs.expectLog({ logger: "persistence", level: "warn", message: "No topic is bound*" });
    const persistence = service({ maxBatchSize: 2 }, { topic: undefined });
    await offerAll(queue, range(0, 6));
    queue.close();
    await persistence.start();
    await queue.whenEmpty();
    await persistence.stop();
    expect(await files()).toHaveLength(3);
    expect(t.logs.records.filter(({ level }) => level === "warn")).toHaveLength(1);
    expect(persistence.getMetrics()).toMatchObject({ notifications_sent: 0, notifications_failed: 0 });
  });
});
