import { describe, expect, it } from "vitest";
import { BatchInfoSchema } from "../src/contracts/index.ts";
import { FileSystemStorage } from "../src/storage/index.ts";
import { setup, type TestContext } from "../src/testing/index.ts";
import { PostgresTopics } from "../src/topics/index.ts";
import { startChild } from "./kit/children.ts";

const producerScript = new URL("./children/producer.child.ts", import.meta.url);
const memoryScript = new URL("./children/producer-memory.child.ts", import.meta.url);

/** PRODUCER_ROUNDS and PRODUCER_MEMORY_TICKS make these tests as large as one likes. */
const rounds = Number(process.env.PRODUCER_ROUNDS ?? 1);
const memoryTicks = Number(process.env.PRODUCER_MEMORY_TICKS ?? 6_000);
const crashPoints = [
  "storage.temporary-synced:3",
  "storage.linked:3",
  "persistence.after-write:3",
  "persistence.after-announce:3",
] as const;
const samplingInterval = 5;
const maxTicks = rounds * 2_000;

async function stage(t: TestContext) {
  const rootDirectory = await t.temporaryFolder();
  const storage = new FileSystemStorage({ rootDirectory });
  const produce = (crashAt?: string) =>
    startChild(producerScript, {
      args: [t.url, rootDirectory, String(maxTicks)],
      ...(crashAt !== undefined && { crashAt }),
    });
  const files = async () => (await storage.listBatchFiles("run-1", undefined, 10_000)).files;
  const announced = async () => {
    await using topics = new PostgresTopics(t.database);
    const reader = await topics.reader(BatchInfoSchema, {
      topic: "batch-topic",
      group: "test",
      runId: "run-1",
    });
    const messages = await reader.pollMany(10_000, 0);
    await topics.deleteGroup("batch-topic", "test");
    return messages.map(({ payload }) => payload.storageKey);
  };
  return { storage, produce, files, announced };
}

describe("a producer that dies", () => {
  it("between writing and announcing leaves a file that storage lists and no topic knows", async () => {
    await using t = await setup();
    const { produce, files, announced } = await stage(t);
    await using child = produce("persistence.after-write:2");
    expect(await child.exit).toMatchObject({ signal: "SIGKILL" });
    const keys = (await files()).map(({ key }) => key);
    const known = await announced();
    expect(keys.length).toBeGreaterThanOrEqual(2);
    expect(keys.filter((key) => !known.includes(key)).length).toBeGreaterThanOrEqual(1);
    expect(known.filter((key) => !keys.includes(key))).toEqual([]);
  });

  it(`${rounds * crashPoints.length} times goes on until every tick is in one file`, {
    timeout: 600_000,
  }, async () => {
    await using t = await setup();
    const { storage, produce, files } = await stage(t);
    for (let round = 0; round < rounds; round++) {
      for (const crashAt of crashPoints) {
        await using child = produce(crashAt);
        expect(await child.exit, child.errorOutput).toMatchObject({ signal: "SIGKILL" });
      }
    }
    await using last = produce();
    expect(await last.exit, last.errorOutput).toEqual({ code: 0, signal: null });

    const numbers: number[] = [];
    let end = -samplingInterval;
    for (const { key, tickStart, tickEnd } of await files()) {
      expect(tickStart).toBe(end + samplingInterval);
      end = tickEnd;
      for (const tick of await storage.readBatch(key)) numbers.push(Number(tick.tickNumber));
    }
    expect(numbers).toEqual(
      Array.from({ length: maxTicks / samplingInterval }, (_, index) => index * samplingInterval),
    );
  });
});

describe("memory", () => {
  it(`of ${memoryTicks} ticks in front of a slow consumer stays under 200 MB with a queue of 16`, {
    timeout: 600_000,
  }, async () => {
    await using child = startChild(memoryScript, { args: [String(memoryTicks), "16"] });
    expect(await child.exit, child.errorOutput).toEqual({ code: 0, signal: null });
    const figure = (name: string) => Number(child.lines.find((line) => line.startsWith(name))?.split(" ")[1]);
    expect(figure("produced")).toBeGreaterThan(memoryTicks * 60_000);
    expect(figure("peak")).toBeLessThan(200);
  });
});
