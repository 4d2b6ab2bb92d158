import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { type BatchInfo, BatchInfoSchema } from "../src/contracts/index.ts";
import { NatsServer, natsProgram, setup } from "../src/testing/index.ts";
import { NatsTopics, PostgresTopics, type TopicMessage, type Topics } from "../src/topics/index.ts";
import { commandLine, flagsTo, places } from "./kit/cli.ts";

/** Three messages, one acknowledged and one dead-lettered by group `indexer`. */
async function prepare(topics: Topics): Promise<void> {
  const writer = await topics.writer(BatchInfoSchema, { topic: "batch-topic" });
  const reader = await topics.reader(BatchInfoSchema, { topic: "batch-topic", group: "indexer" });
  await writer.sendMany(
    ["a", "b", "c"].map((storageKey) => ({ message: create(BatchInfoSchema, { storageKey }) })),
  );
  const received: TopicMessage<BatchInfo>[] = [];
  while (received.length < 2) received.push(...(await reader.pollMany(2 - received.length, 5_000)));
  const [done, bad] = received as [TopicMessage<BatchInfo>, TopicMessage<BatchInfo>];
  await reader.ack(done);
  await reader.deadLetter(bad, { error: new Error("bad"), sourceService: "indexer" });
}

async function operate(flags: readonly string[]): Promise<void> {
  const { run, json } = commandLine(flags);
  expect(await json("topic", "list")).toEqual({
    topics: [
      {
        name: "batch-topic",
        messageType: "tallyman.v1.BatchInfo",
        messages: 3,
        groups: 1,
        retentionMs: null,
        deadLettersOf: null,
      },
      expect.objectContaining({
        name: "batch-topic-dead-letters",
        messages: 1,
        deadLettersOf: "batch-topic",
      }),
    ],
  });
  expect((await run("topic", "list")).text).toMatch(
    /^TOPIC +TYPE .*\nbatch-topic +tallyman\.v1\.BatchInfo +3 +1 +for ever/,
  );
  const lag = await json("topic", "lag", "batch-topic");
  expect(lag.groups).toMatchObject([
    { topic: "batch-topic", group: "indexer", messages: 1, ready: 1, claimed: 0 },
  ]);
  expect(await json("topic", "redrive", "batch-topic")).toEqual({ topic: "batch-topic", redriven: 1 });
  const seek = await json("topic", "seek", "batch-topic", "indexer", "--to", "end");
  expect(seek).toMatchObject({ messages: 0, oldestAgeMs: null });
  const paused = await run("topic", "pause", "batch-topic", "indexer");
  expect(paused.text).toBe("Group indexer of topic batch-topic: paused.");
  expect((await run("topic", "groups", "batch-topic")).text).toMatch(/batch-topic +indexer +paused/);
  expect((await run("topic", "resume", "batch-topic", "indexer")).code).toBe(0);
}

describe.each(places)("tallyman topic, by way of %s", (place) => {
  it("shows and operates topics in PostgreSQL, and writes down what was done", async () => {
    await using t = await setup();
    await using topics = new PostgresTopics(t.database);
    await prepare(topics);
    const flags = await flagsTo(place, t);
    await operate(flags);
    const { json } = commandLine(flags);
    expect(await json("audit")).toMatchObject([
      { action: "topic.resume", target: { topic: "batch-topic", group: "indexer" } },
      { action: "topic.pause" },
      { action: "topic.seek", target: { to: "end" } },
      { action: "topic.redrive", changed: 1 },
    ]);
    for (const to of ["0", "2025-01-31T12:00Z"])
      expect(await json("topic", "seek", "batch-topic", "indexer", "--to", to)).toMatchObject({
        messages: 3,
      });
    const lag = await json("topic", "lag", "--run", "another-run");
    expect(lag.groups).toMatchObject([{ group: "indexer", messages: 0 }]);
  });

  it("says what is wrong, with the exit code of the catalogue", async () => {
    await using t = await setup();
    const { run } = commandLine(await flagsTo(place, t));
    expect((await run("topic", "list")).text).toBe("No topics yet: the first writer or reader makes one.");
    expect(await run("topic", "lag", "nowhere")).toMatchObject({
      code: 3,
      errors: expect.stringContaining("[TOPIC_NOT_FOUND]"),
    });
    expect(await run("topic", "pause", "nowhere", "g")).toMatchObject({ code: 3 });
    for (const to of ["yesterdy", "position:2", "1.5"]) {
      const usage = await run("topic", "seek", "t", "g", "--to", to);
      expect(usage.code, to).toBe(2);
      expect(usage.errors).toContain("Write beginning, end, a position, or a time");
    }
  });
});

describe("tallyman topic --nats", () => {
  const isMissing = natsProgram() === undefined;
  const why = isMissing ? " (skipped: nats-server is not installed)" : "";
  it.skipIf(isMissing)(`shows and operates topics in NATS${why}`, async () => {
    await using t = await setup();
    const server = t.use(await NatsServer.start());
    const topics = t.use(await NatsTopics.connect({ servers: server.url }));
    await prepare(topics);
    await operate(["--nats", server.url]);
  });

  it("is not for a server of Tallyman", async () => {
    const { run } = commandLine(["--nats", "127.0.0.1:1", "--url", "http://127.0.0.1:1"]);
    expect(await run("topic", "list")).toMatchObject({
      code: 2,
      errors: expect.stringContaining("Keep one of them"),
    });
  });
});
