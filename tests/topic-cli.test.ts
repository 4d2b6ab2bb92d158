import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { BatchInfoSchema } from "../src/contracts/index.ts";
import { NatsServer, natsProgram, setup, startChild } from "../src/testing/index.ts";
import { NatsTopics, PostgresTopics, type Topics } from "../src/topics/index.ts";

const cli = new URL("../src/cli/main.ts", import.meta.url);

/** Runs one command line; returns its exit code, output and, when it printed any, JSON. */
async function tallyman(env: Record<string, string>, ...args: string[]) {
  await using child = startChild(cli, { args, env });
  const { code } = await child.exit;
  const text = child.lines.join("\n");
  return {
    code,
    text,
    json: args.includes("--json") ? JSON.parse(text) : undefined,
    errors: child.errorOutput,
  };
}

/** Three messages, one acknowledged and one dead-lettered by group `indexer`. */
async function prepare(topics: Topics): Promise<void> {
  const writer = await topics.writer(BatchInfoSchema, { topic: "batch-topic" });
  const reader = await topics.reader(BatchInfoSchema, { topic: "batch-topic", group: "indexer" });
  await writer.sendMany(
    ["a", "b", "c"].map((storageKey) => ({ message: create(BatchInfoSchema, { storageKey }) })),
  );
  const [done, bad] = await reader.pollMany(2, 5_000);
  if (!done || !bad) throw new Error("two messages must come");
  await reader.ack(done);
  await reader.deadLetter(bad, { error: new Error("bad"), sourceService: "indexer" });
}

async function operate(env: Record<string, string>): Promise<void> {
  const list = await tallyman(env, "topic", "list", "--json");
  expect(list).toMatchObject({
    code: 0,
    json: {
      topics: [
        {
          name: "batch-topic",
          messageType: "tallyman.v1.BatchInfo",
          messages: 3,
          groups: 1,
          retentionMs: null,
        },
        { name: "batch-topic-dead-letters", messages: 1, deadLettersOf: "batch-topic" },
      ],
    },
  });
  expect((await tallyman(env, "topic", "list")).text).toMatch(
    /^TOPIC +TYPE .*\nbatch-topic +tallyman\.v1\.BatchInfo +3 +1 +for ever/,
  );
  const lag = await tallyman(env, "topic", "lag", "batch-topic", "--json");
  expect(lag.json.groups).toMatchObject([{ group: "indexer", messages: 1, ready: 1, claimed: 0 }]);
  expect(await tallyman(env, "topic", "redrive", "batch-topic", "--json")).toMatchObject({
    code: 0,
    json: { topic: "batch-topic", redriven: 1 },
  });
  const seek = await tallyman(env, "topic", "seek", "batch-topic", "indexer", "--to", "end", "--json");
  expect(seek).toMatchObject({ code: 0, json: { messages: 0, oldestAgeMs: null } });
  const paused = await tallyman(env, "topic", "pause", "batch-topic", "indexer");
  expect(paused.text).toBe("Group indexer of topic batch-topic: paused.");
  expect((await tallyman(env, "topic", "groups", "batch-topic")).text).toMatch(
    /batch-topic +indexer +paused/,
  );
}

describe("tallyman topic", () => {
  it("shows and operates topics in PostgreSQL", async () => {
    await using t = await setup();
    await using topics = new PostgresTopics(t.database);
    await prepare(topics);
    await operate({ DATABASE_URL: t.url });
  });

  it("says what is wrong, with the exit code of the catalogue", async () => {
    await using t = await setup();
    const env = { DATABASE_URL: t.url };
    expect((await tallyman(env, "topic", "list")).text).toBe(
      "No topics yet: the first writer or reader makes one.",
    );
    const missing = await tallyman(env, "topic", "lag", "nowhere", "--json");
    expect(missing).toMatchObject({ code: 3, json: { success: false, error: { code: "TOPIC_NOT_FOUND" } } });
    const usage = await tallyman(env, "topic", "seek", "t", "g", "--to", "yesterdy");
    expect(usage.code).toBe(2);
    expect(usage.errors).toContain("Write beginning, end, a position, or a time");
  });

  const isMissing = natsProgram() === undefined;
  const why = isMissing ? " (skipped: nats-server is not installed)" : "";
  it.skipIf(isMissing)(`shows and operates topics in NATS${why}`, async () => {
    await using t = await setup();
    const server = t.use(await NatsServer.start());
    const topics = t.use(await NatsTopics.connect({ servers: server.url }));
    await prepare(topics);
    await operate({ NATS_URL: server.url });
  });
});
