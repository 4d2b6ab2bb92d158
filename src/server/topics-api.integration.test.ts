import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { expectRefusals, openServer } from "../../tests/kit/api.ts";
import type { Tallyman } from "../app/index.ts";
import { TallymanClient } from "../client/index.ts";
import { BatchInfoSchema } from "../contracts/index.ts";
import { setup } from "../testing/index.ts";

const topic = "batch-topic";
const group = "indexer";
const place = { topic, group };

/** Three announcements of run-1: one acknowledged, one given up, one waiting. */
async function prepare({ topics }: Tallyman): Promise<void> {
  const writer = await topics.writer(BatchInfoSchema, { topic, runId: "run-1" });
  const reader = await topics.reader(BatchInfoSchema, { topic, group, runId: "run-1" });
  await writer.sendMany(
    ["a", "b", "c"].map((storageKey) => ({ message: create(BatchInfoSchema, { storageKey }) })),
  );
  const [done, bad] = await reader.pollMany(2, 5_000);
  if (!done || !bad) throw new Error("two messages must come");
  await reader.ack(done);
  await reader.deadLetter(bad, { error: new Error("no such file"), sourceService: "indexer-1" });
}

describe("topics over HTTP", () => {
  it("lists topics with groups, lag and dead letters", async () => {
    await using t = await setup();
    const { tallyman, client } = await openServer(t);
    await prepare(tallyman);
    expect(await client.call("GET /api/topics")).toMatchObject([
      {
        name: topic,
        messageType: "tallyman.v1.BatchInfo",
        messages: 3,
        retentionMs: null,
        deadLetterTopics: [{ name: "batch-topic-dead-letters", messages: 1 }],
        groups: [{ group, isPaused: false, messages: 1, ready: 1, oldestAgeMs: expect.any(Number) }],
      },
      { name: "batch-topic-dead-letters", deadLettersOf: topic, groups: [] },
    ]);
  });

  it("shows dead letters and sends them back, after a preview", async () => {
    await using t = await setup();
    const { tallyman, client } = await openServer(t);
    await prepare(tallyman);
    const letters = await client.call("GET /api/topics/:topic/dead-letters", { params: { topic } });
    expect(letters).toMatchObject({
      items: [
        {
          error: "Error: no such file",
          sourceService: "indexer-1",
          retryCount: 0,
          runId: "run-1",
          group,
          messageType: "tallyman.v1.BatchInfo",
          payload: { storageKey: "b" },
          lastFailureAt: expect.any(String),
        },
      ],
      nextCursor: null,
    });
    const inTopic = { topic: "batch-topic-dead-letters" };
    expect(await client.call("GET /api/topics/:topic/dead-letters", { params: inTopic })).toEqual(letters);
    const preview = (query: { group?: string; runId?: string }) =>
      client.call("GET /api/topics/:topic/redrive", { params: { topic }, query });
    expect(await preview({ group: "other" })).toEqual({ matched: 0 });
    expect(await preview({ group, runId: "run-1" })).toEqual({ matched: 1 });
    const redrive = (body: object) =>
      client.call("POST /api/topics/:topic/redrive", { params: { topic }, body });
    expect(await redrive({ runId: "run-2" })).toEqual({ changed: 0 });
    expect(await redrive({ reason: "the file is back" })).toEqual({ changed: 1 });
    expect(await tallyman.topics.listGroups(topic)).toMatchObject([{ messages: 2 }]);
    expect((await client.call("GET /api/actions")).items[0]).toMatchObject({
      action: "topic.redrive",
      target: { topic },
      changed: 1,
      reason: "the file is back",
    });
  });

  it("pages through dead letters, and shows as base64 what it can't read", async () => {
    await using t = await setup();
    const { tallyman, client } = await openServer(t);
    await prepare(tallyman);
    const reader = await tallyman.topics.reader(BatchInfoSchema, { topic, group, runId: "run-1" });
    const message = await reader.poll(5_000);
    if (!message) throw new Error("a message must come");
    await reader.deadLetter(message, { error: "damaged", sourceService: "indexer-1" });
    await t.database.query(
      `UPDATE tallyman.topic_message SET payload = '\\x0a02ffff1203666f6f' WHERE message_id =
         (SELECT max(message_id) FROM tallyman.topic_message)`,
    );
    const read = (cursor?: number) =>
      client.call("GET /api/topics/:topic/dead-letters", {
        params: { topic },
        query: { limit: 1, ...(cursor !== undefined && { cursor }) },
      });
    const first = await read();
    expect(first.items).toMatchObject([{ payload: { storageKey: "b" } }]);
    const second = await read(Number(first.nextCursor));
    expect(second.items).toMatchObject([{ messageType: "foo", payloadBytes: 2, payload: "//8=" }]);
    await t.database.query(
      "UPDATE tallyman.topic_message SET payload = '\\xffff' WHERE origin_message_id IS NOT NULL",
    );
    expect((await read()).items).toMatchObject([{ error: "The letter itself is damaged.", payload: null }]);
  });

  it("hides payloads from those who may not see them", async () => {
    await using t = await setup();
    const { tallyman, server } = await openServer(t);
    await prepare(tallyman);
    const { token } = await tallyman.tokens.create({
      name: "looker",
      role: "read",
      canViewPayloads: false,
      createdBy: "test",
    });
    const looker = new TallymanClient({ url: server.url, token });
    const { items } = await looker.call("GET /api/topics/:topic/dead-letters", { params: { topic } });
    expect(items).toMatchObject([{ error: "Error: no such file", payload: "[hidden]" }]);
    const pause = looker.call("POST /api/topics/:topic/groups/:group/pause", { params: place });
    await expect(pause).rejects.toMatchObject({ status: 403, code: "ROLE_INSUFFICIENT" });
  });

  it("pauses, resumes, moves and deletes groups, and sets retention", async () => {
    await using t = await setup();
    const { tallyman, client } = await openServer(t);
    await prepare(tallyman);
    await client.call("POST /api/topics/:topic/groups/:group/pause", { params: place });
    expect(await tallyman.topics.listGroups(topic)).toMatchObject([{ isPaused: true }]);
    await client.call("POST /api/topics/:topic/groups/:group/resume", { params: place });
    expect(await tallyman.topics.listGroups(topic)).toMatchObject([{ isPaused: false }]);

    const seek = (body: object) =>
      client.call("POST /api/topics/:topic/groups/:group/seek", { params: place, body });
    expect(await seek({ to: "beginning" })).toMatchObject({ messages: 3 });
    expect(await seek({ to: "end" })).toMatchObject({ messages: 0 });
    expect(await seek({ time: "2020-01-01T00:00:00Z" })).toMatchObject({ messages: 3 });
    const { rows } = await t.database.query<{ last: number }>(
      "SELECT max(message_id) AS last FROM tallyman.topic_message WHERE origin_message_id IS NULL",
    );
    expect(await seek({ position: rows[0]?.last })).toMatchObject({ messages: 1 });

    await client.call("PUT /api/topics/:topic/retention", {
      params: { topic },
      body: { retentionMs: 60_000 },
    });
    expect(await client.call("GET /api/topics")).toMatchObject([{ retentionMs: 60_000 }, {}]);
    await client.call("PUT /api/topics/:topic/retention", { params: { topic }, body: { retentionMs: null } });
    expect(await client.call("GET /api/topics")).toMatchObject([{ retentionMs: null }, {}]);

    const remove = () =>
      client.call("DELETE /api/topics/:topic/groups/:group", {
        params: place,
        query: { reason: "gone for good" },
      });
    expect(await remove()).toEqual(place);
    expect(await tallyman.topics.listGroups(topic)).toEqual([]);
    expect((await t.database.query("SELECT FROM tallyman.topic_delivery")).rowCount).toBe(0);
    await expect(remove()).rejects.toMatchObject({ status: 404, code: "TOPIC_GROUP_NOT_FOUND" });
    const { items } = await client.call("GET /api/actions", { query: { action: "topic.delete-group" } });
    expect(items).toMatchObject([{ target: place, reason: "gone for good" }]);
  });

  it("says what is wrong, with the field", async () => {
    await using t = await setup();
    const { tallyman, server } = await openServer(t);
    await prepare(tallyman);
    const seek = "POST /api/topics/batch-topic/groups/indexer/seek";
    const retention = "PUT /api/topics/batch-topic/retention";
    const letters = "GET /api/topics/batch-topic/dead-letters";
    await expectRefusals(server, [
      ["GET /api/topics/nothing/dead-letters", undefined, 404, "TOPIC_NOT_FOUND"],
      ["POST /api/topics/nothing/redrive", {}, 404, "TOPIC_NOT_FOUND"],
      ["PUT /api/topics/nothing/retention", { retentionMs: 1 }, 404, "TOPIC_NOT_FOUND"],
      [retention, { retentionMs: 0 }, 400, "retentionMs"],
      [retention, { retentionMs: 1e18 }, 400, "retentionMs"],
      [retention, {}, 400, "retentionMs"],
      ["GET /api/topics/a%00b/dead-letters", undefined, 400, "topic"],
      ["GET /api/topics/..%2F..%2Fetc/redrive", undefined, 400, "topic"],
      [`${letters}?cursor=x`, undefined, 400, "cursor"],
      [`${letters}?cursor=1e30`, undefined, 400, "cursor"],
      [`${letters}?limit=101`, undefined, 400, "limit"],
      [seek, {}, 400, "to"],
      [seek, { to: "x" }, 400, "to"],
      [seek, { to: "end", position: 1 }, 400, "to"],
      [seek, { position: -1 }, 400, "position"],
      [seek, { time: "soon" }, 400, "time"],
      [seek, { time: "2016-12-31T23:59:60Z" }, 400, "time"],
      ["POST /api/topics/batch-topic/groups/nobody/seek", { to: "end" }, 404, "TOPIC_GROUP_NOT_FOUND"],
      ["POST /api/topics/batch-topic/redrive", { reason: "a\0b" }, 400, "reason"],
    ]);
  });
});
