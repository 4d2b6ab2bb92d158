import { create, type Message } from "@bufbuild/protobuf";
import pg from "pg";
import { describe, expect, it, vi } from "vitest";
import { type BatchInfo, BatchInfoSchema, MetadataInfoSchema } from "../contracts/index.ts";
import { type Database, pipelined, type Transaction } from "../database/index.ts";
import { metricNames } from "../monitoring/index.ts";
import { setup } from "../testing/index.ts";
import {
  PostgresTopics,
  StaleMessageError,
  type TopicMessage,
  type TopicReader,
  TopicRetention,
} from "./index.ts";
import { deliverFrom, insertGroup } from "./sql/group.ts";
import { publish } from "./sql/publish.ts";
import { sweepStep } from "./sql/retention.ts";
import { findTopic, lockGroupsExclusive, lockGroupsShared } from "./sql/topic.ts";

const topic = "batch-topic";

function info(storageKey: string): BatchInfo {
  return create(BatchInfoSchema, { storageKey });
}

async function topicIdOf(database: Database): Promise<number> {
  return (await findTopic(database, topic))?.topicId ?? -1;
}

/** Waits until some statement of this database waits for a lock. */
async function untilBlocked(database: Database): Promise<void> {
  const blocked = () =>
    database.query<{ n: number }>(
      "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    );
  await expect.poll(async () => (await blocked()).rows[0]?.n, { interval: 10 }).toBeGreaterThan(0);
}

/** The message that must be there. */
async function one<T extends Message>(reader: TopicReader<T>): Promise<TopicMessage<T>> {
  const message = await reader.poll(0);
  if (!message) throw new Error("nothing came");
  return message;
}

async function countOf(database: Database, from: string): Promise<number> {
  const { rows } = await database.query<{ n: number }>(`SELECT count(*) AS n FROM ${from}`);
  return rows[0]?.n ?? -1;
}

describe("publishing while a group is made", () => {
  it("delivers to a group that was being made when the publisher began", async () => {
    await using t = await setup();
    await using topics = new PostgresTopics(t.database);
    const writer = await topics.writer(BatchInfoSchema, { topic });
    const topicId = await topicIdOf(t.database);
    let sending: Promise<unknown> = Promise.resolve();
    await t.database.transaction(async (tx) => {
      await lockGroupsExclusive(tx, topicId);
      const groupId = await insertGroup(tx, topicId, "new");
      await deliverFrom(tx, { topicId, groupId: groupId ?? -1, position: 0, runId: null });
      sending = writer.send(info("m"));
      await untilBlocked(t.database);
    });
    await sending;
    const reader = await topics.reader(BatchInfoSchema, { topic, group: "new" });
    expect((await reader.poll(0))?.payload.storageKey).toBe("m");
  });

  it("makes a group only after the publishers under way, and replays what they sent", async () => {
    await using t = await setup();
    await using topics = new PostgresTopics(t.database);
    const writer = await topics.writer(BatchInfoSchema, { topic });
    let opening = Promise.resolve<unknown>(undefined);
    await t.database.transaction(async (tx) => {
      await writer.send(info("m"), { tx });
      opening = topics.reader(BatchInfoSchema, { topic, group: "new" });
      await untilBlocked(t.database);
    });
    await opening;
    const reader = await topics.reader(BatchInfoSchema, { topic, group: "new" });
    expect(await reader.pollMany(10, 0)).toHaveLength(1);
  });

  it("makes a group once when several readers open it at the same moment", async () => {
    await using t = await setup();
    await using topics = new PostgresTopics(t.database);
    const writer = await topics.writer(BatchInfoSchema, { topic });
    await writer.sendMany(["a", "b"].map((name) => ({ message: info(name) })));
    const options = { topic, group: "new" };
    const readers = await Promise.all(
      Array.from({ length: 5 }, () => topics.reader(BatchInfoSchema, options)),
    );
    const polled = await Promise.all(readers.map((reader) => reader.pollMany(10, 0)));
    expect(polled.flat()).toHaveLength(2);
  });
});

describe("hints", () => {
  it("wake a waiting poll at once, long before the poll interval", async () => {
    await using t = await setup();
    await using topics = new PostgresTopics(t.database);
    const writer = await topics.writer(BatchInfoSchema, { topic });
    const reader = await topics.reader(BatchInfoSchema, { topic, group: "g", pollIntervalMs: 60_000 });
    const startMs = performance.now();
    const first = reader.poll(25_000);
    await expect.poll(() => t.database.listener.isConnected).toBe(true);
    await writer.send(info("own transaction"));
    expect((await first)?.payload.storageKey).toBe("own transaction");

    const second = reader.poll(25_000);
    await t.database.transaction(async (tx) => {
      await writer.send(info("caller's transaction"), { tx });
    });
    expect((await second)?.payload.storageKey).toBe("caller's transaction");
    expect(performance.now() - startMs, "neither waited for its time-out").toBeLessThan(20_000);
  });

  it("are few: one for each call, or fewer", async () => {
    await using t = await setup();
    await using topics = new PostgresTopics(t.database);
    const writer = await topics.writer(BatchInfoSchema, { topic });
    const client = new pg.Client(t.url);
    await client.connect();
    await client.query("LISTEN tallyman_topic");
    let hints = 0;
    client.on("notification", () => hints++);
    const many = Array.from({ length: 2_500 }, (_, i) => ({ message: info(`m${i}`) }));
    await t.database.transaction(async (tx) => {
      await writer.sendMany(many, { tx });
      await writer.sendMany(many, { tx });
    });
    await client.query("SELECT 1");
    expect(hints).toBe(1);
    await Promise.all(Array.from({ length: 100 }, (_, i) => writer.send(info(`n${i}`))));
    await topics.close();
    await client.query("SELECT 1");
    expect(hints).toBeGreaterThan(1);
    expect(hints).toBeLessThan(60);
    await client.end();
  });

  it("are not needed: without LISTEN a poll finds what is there", async () => {
    await using t = await setup();
    const database = await t.connect({ listenUrl: null });
    await using topics = new PostgresTopics(database);
    const writer = await topics.writer(BatchInfoSchema, { topic });
    const reader = await topics.reader(BatchInfoSchema, { topic, group: "g", pollIntervalMs: 100 });
    const polling = reader.poll(20_000);
    await writer.send(info("m"));
    expect((await polling)?.payload.storageKey).toBe("m");
    const startMs = performance.now();
    expect(await reader.poll(450)).toBeUndefined();
    expect(reader.getMetrics().empty_polls).toBe(1);
    expect(performance.now() - startMs).toBeGreaterThan(440);
  });
});

describe("fencing", () => {
  it("refuses a claim version of an earlier life of the row", async () => {
    await using t = await setup();
    await using topics = new PostgresTopics(t.database);
    const writer = await topics.writer(BatchInfoSchema, { topic });
    const reader = await topics.reader(BatchInfoSchema, { topic, group: "g" });
    await writer.send(info("m"));
    const first = await one(reader);
    await reader.ack(first);
    await topics.seekGroup(topic, "g", "beginning");
    const second = await one(reader);
    expect(second.deliveries).toBe(1);
    await expect(reader.ack(first)).rejects.toThrow(StaleMessageError);
    await reader.ack(second);
  });

  it("takes the ack of a claim that ran out but was not given away, and refuses to extend it", async () => {
    await using t = await setup();
    await using topics = new PostgresTopics(t.database);
    const writer = await topics.writer(BatchInfoSchema, { topic });
    const reader = await topics.reader(BatchInfoSchema, { topic, group: "g" });
    await writer.send(info("m"));
    const message = await one(reader);
    await t.database.query(
      "UPDATE tallyman.topic_delivery SET visible_at = clock_timestamp() - interval '1 s'",
    );
    await expect(reader.extend(message)).rejects.toMatchObject({
      code: "STALE_MESSAGE",
      message: `Too late to extend message ${message.position} of topic batch-topic for group g: the claim is no longer held. Drop what was done with it; it is delivered again unless it was settled.`,
    });
    await reader.ack(message);
  });

  it("works in a transaction on the caller's own client, which reads int8 as text", async () => {
    await using t = await setup();
    await using topics = new PostgresTopics(t.database);
    const writer = await topics.writer(BatchInfoSchema, { topic });
    const reader = await topics.reader(BatchInfoSchema, { topic, group: "g" });
    const client = new pg.Client(t.url);
    await client.connect();
    await client.query("BEGIN");
    expect(await writer.send(info("a"), { key: "a", tx: client })).toBe("sent");
    expect(await reader.poll(0)).toBeUndefined();
    await client.query("COMMIT");
    const message = await one(reader);
    await client.query("BEGIN");
    await reader.ack(message, { tx: client });
    await client.query("COMMIT");
    await writer.send(info("b"));
    const poison = await one(reader);
    await client.query("BEGIN");
    await reader.deadLetter(poison, { error: "no", sourceService: "test", tx: client });
    await client.query("ROLLBACK");
    expect(await countOf(t.database, "tallyman.topic_message WHERE origin_message_id IS NOT NULL")).toBe(0);
    await reader.ack(poison);
    await client.end();
  });
});

describe("dead letters", () => {
  it("go many to a transaction, on one connection, and back with it", async () => {
    await using t = await setup();
    const database = await t.connect({ poolMax: 1 });
    await using topics = new PostgresTopics(database);
    const writer = await topics.writer(BatchInfoSchema, { topic });
    const reader = await topics.reader(BatchInfoSchema, { topic, group: "g" });
    await writer.sendMany(["a", "b"].map((name) => ({ message: info(name) })));
    const messages = await reader.pollMany(2, 0);
    const giveUp = (isRolledBack: boolean) =>
      database.transaction(async (tx) => {
        for (const message of messages)
          await reader.deadLetter(message, { error: "no", sourceService: "test", tx });
        if (isRolledBack) throw new Error("rolled back");
      });
    await expect(giveUp(true)).rejects.toThrow("rolled back");
    const letters = "tallyman.topic_message JOIN tallyman.topic USING (topic_id) WHERE dead_letters_of > 0";
    expect(await countOf(database, letters)).toBe(0);
    await giveUp(false);
    expect(await countOf(database, letters)).toBe(2);
  });

  it("wait for no other transaction that has given something up", async () => {
    await using t = await setup();
    await using topics = new PostgresTopics(t.database);
    const writer = await topics.writer(BatchInfoSchema, { topic });
    const reader = await topics.reader(BatchInfoSchema, { topic, group: "g" });
    await writer.sendMany(["a", "b", "c"].map((name) => ({ message: info(name) })));
    const [first, ...rest] = await reader.pollMany(3, 0);
    const giveUp = (message: TopicMessage<BatchInfo>, tx?: Transaction) =>
      reader.deadLetter(message, { error: "no", sourceService: "test", ...(tx && { tx }) });
    if (first) await giveUp(first);
    await t.database.transaction(async (tx) => {
      const [inside, outside] = rest as [TopicMessage<BatchInfo>, TopicMessage<BatchInfo>];
      await giveUp(inside, tx);
      await giveUp(outside);
    });
    expect(await topics.redrive(topic)).toBe(3);
  });
});

describe("claims", () => {
  it("skip what another transaction is claiming, instead of waiting", async () => {
    await using t = await setup();
    await using topics = new PostgresTopics(t.database);
    const writer = await topics.writer(BatchInfoSchema, { topic });
    const reader = await topics.reader(BatchInfoSchema, { topic, group: "g" });
    await writer.sendMany(["a", "b"].map((name) => ({ message: info(name) })));
    await t.database.transaction(async (tx) => {
      await tx.query("SELECT FROM tallyman.topic_delivery ORDER BY message_id LIMIT 1 FOR UPDATE");
      const messages = await reader.pollMany(2, 0);
      expect(messages.map(({ payload }) => payload.storageKey)).toEqual(["b"]);
    });
  });

  it("deliver what committed late behind what was numbered later", async () => {
    await using t = await setup();
    await using topics = new PostgresTopics(t.database);
    const writer = await topics.writer(BatchInfoSchema, { topic });
    const reader = await topics.reader(BatchInfoSchema, { topic, group: "g" });
    await t.database.transaction(async (tx) => {
      await writer.send(info("numbered first"), { tx });
      await writer.send(info("committed first"));
      const message = await reader.poll(0);
      expect(message?.payload.storageKey).toBe("committed first");
    });
    expect((await reader.poll(0))?.payload.storageKey).toBe("numbered first");
  });

  it("hand out a damaged payload beside good ones, and let it be dead-lettered", async () => {
    await using t = await setup();
    await using topics = new PostgresTopics(t.database);
    const writer = await topics.writer(BatchInfoSchema, { topic });
    const reader = await topics.reader(BatchInfoSchema, { topic, group: "g" });
    const topicId = await topicIdOf(t.database);
    await t.database.transaction((tx) =>
      pipelined(
        lockGroupsShared(tx, topicId),
        publish(tx, { topicId, runId: "", keys: [null], payloads: [Buffer.from([0xff, 0xff])] }),
      ),
    );
    await writer.send(info("good"));
    const [damaged, good] = await reader.pollMany(2, 0);
    if (!damaged || !good) throw new Error("both must come");
    expect(good.payload.storageKey).toBe("good");
    expect(() => damaged.payload).toThrow(expect.objectContaining({ code: "TOPIC_PAYLOAD_INVALID" }));
    await reader.deadLetter(damaged, { error: new Error("damaged"), sourceService: "test" });
    await reader.ack(good);
    expect(await topics.redrive(topic)).toBe(1);
  });
});

describe("housekeeping", () => {
  it("reads nothing behind the first page with a younger message", async () => {
    await using t = await setup();
    await using topics = new PostgresTopics(t.database);
    const writer = await topics.writer(BatchInfoSchema, { topic });
    await writer.sendMany(["a", "b", "c"].map((key) => ({ message: info(key), key })));
    await topics.setRetention(topic, 60_000);
    await t.database.query(
      "UPDATE tallyman.topic_message SET published_at = published_at - interval '1 day' WHERE message_key <> 'b'",
    );
    const topicId = await topicIdOf(t.database);
    const step = (after: number) =>
      t.database.transaction((tx) => sweepStep(tx, { topicId, after, limit: 1 }));
    const first = await step(-1);
    expect(first).toEqual({ deleted: 1, next: expect.any(Number) });
    expect(await step(first.next ?? -1)).toEqual({ deleted: 0, next: null });
  });

  it("spares the message behind a dead letter, and leaves letters of a deleted group where they are", async () => {
    await using t = await setup();
    await using topics = new PostgresTopics(t.database);
    const writer = await topics.writer(BatchInfoSchema, { topic });
    const reader = await topics.reader(BatchInfoSchema, { topic, group: "g" });
    await writer.send(info("bad"));
    const bad = await one(reader);
    await reader.deadLetter(bad, { error: "no", sourceService: "test" });
    await topics.setRetention(topic, 1);
    await t.database.query("UPDATE tallyman.topic_message SET published_at = published_at - interval '1 h'");
    expect(await topics.sweepRetention()).toBe(0);
    expect(await topics.redrive(topic, { runId: "other" })).toBe(0);
    await topics.deleteGroup(topic, "g");
    expect(await topics.redrive(topic)).toBe(0);
    expect(await countOf(t.database, "tallyman.topic_message WHERE origin_message_id IS NOT NULL")).toBe(1);
  });

  it("removes the deliveries of a group whose deletion was cut short, and sweeps in several steps", async () => {
    await using t = await setup();
    await using topics = new PostgresTopics(t.database);
    const writer = await topics.writer(BatchInfoSchema, { topic });
    await topics.reader(BatchInfoSchema, { topic, group: "g" });
    await topics.reader(BatchInfoSchema, { topic, group: "h" });
    await writer.sendMany(Array.from({ length: 6_000 }, (_, i) => ({ message: info(`m${i}`) })));
    await t.database.query("DELETE FROM tallyman.topic_group WHERE name = 'g'");
    await topics.sweepRetention();
    expect(await countOf(t.database, "tallyman.topic_delivery")).toBe(6_000);
    await topics.deleteGroup(topic, "h");
    expect(await countOf(t.database, "tallyman.topic_delivery")).toBe(0);
    await topics.setRetention(topic, 1);
    await t.database.query("UPDATE tallyman.topic_message SET published_at = published_at - interval '1 h'");
    expect(await topics.sweepRetention()).toBe(6_000);
  });
});

describe("TopicRetention", () => {
  it("sweeps again and again, and outlives a failed sweep", async () => {
    await using t = await setup();
    await using topics = new PostgresTopics(t.database);
    const writer = await topics.writer(BatchInfoSchema, { topic });
    await topics.setRetention(topic, 1);
    await t.database.query("ALTER TABLE tallyman.topic_group RENAME TO elsewhere");
    const message = "A sweep failed and is tried again later.";
    t.logs.expectLog({ logger: "topics.retention", level: "warn", message });
    await using retention = new TopicRetention(topics, { sweepIntervalMs: 20 });
    await retention.start();
    await expect.poll(() => t.logs.records.some((record) => record.message === message)).toBe(true);
    await t.database.query("ALTER TABLE tallyman.elsewhere RENAME TO topic_group");
    await writer.send(info("m"));
    await expect.poll(() => countOf(t.database, "tallyman.topic_message")).toBe(0);
    expect(retention.state).toBe("RUNNING");
  });
});

describe("readers and writers", () => {
  it("refuse to work when closed, and another reader's message", async () => {
    await using t = await setup();
    await using topics = new PostgresTopics(t.database);
    const writer = await topics.writer(BatchInfoSchema, { topic });
    const reader = await topics.reader(BatchInfoSchema, { topic, group: "g" });
    const other = await topics.reader(BatchInfoSchema, { topic, group: "h" });
    await writer.send(info("m"));
    const message = await one(reader);
    await expect(other.ack(message)).rejects.toMatchObject({ code: "INVALID_OPTION" });
    await topics.close();
    await expect(reader.poll(0)).rejects.toMatchObject({ code: "INVALID_STATE" });
    await expect(writer.send(info("m"))).rejects.toMatchObject({ code: "INVALID_STATE" });
    expect([reader.isHealthy(), writer.isHealthy()]).toEqual([false, false]);
  });

  it("subscribe to nothing when they are closed during a poll, and claim nothing more", async () => {
    await using t = await setup();
    await using topics = new PostgresTopics(t.database);
    const writer = await topics.writer(BatchInfoSchema, { topic });
    const [claiming, waiting] = [
      await topics.reader(BatchInfoSchema, { topic, group: "g" }),
      await topics.reader(BatchInfoSchema, { topic, group: "h", pollIntervalMs: 60_000 }),
    ];
    const subscribe = vi.spyOn(t.database.listener, "subscribe");
    const waited = waiting.poll(2_000);
    await expect.poll(() => subscribe.mock.calls.length).toBe(1);
    const claimed = await t.database.transaction(async (tx) => {
      await tx.query("LOCK tallyman.topic_delivery");
      const polling = claiming.pollMany(1, 2_000);
      await untilBlocked(t.database);
      await Promise.all([claiming.close(), waiting.close()]);
      return { polling };
    });
    expect(await claimed.polling).toEqual([]);
    await writer.send(info("m"));
    expect(await waited).toBeUndefined();
    expect(subscribe).toHaveBeenCalledTimes(1);
  });

  it("count what they do, under names of the table", async () => {
    await using t = await setup();
    await using topics = new PostgresTopics(t.database);
    const writer = await topics.writer(BatchInfoSchema, { topic });
    const reader = await topics.reader(BatchInfoSchema, { topic, group: "g" });
    await writer.send(info("m"), { key: "k" });
    await writer.send(info("m"), { key: "k" });
    const message = await one(reader);
    await reader.nack(message);
    const again = await one(reader);
    await reader.ack(again);
    await expect(reader.ack(again)).rejects.toThrow();
    await reader.poll(0);
    expect(writer.getMetrics()).toMatchObject({ messages_sent: 1, duplicate_sends: 1, send_errors: 0 });
    expect(reader.getMetrics()).toMatchObject({
      messages_received: 2,
      messages_redelivered: 1,
      messages_acknowledged: 1,
      messages_handed_back: 1,
      stale_messages: 1,
      empty_polls: 1,
      error_count: 0,
    });
    const unknown = Object.keys({ ...writer.getMetrics(), ...reader.getMetrics() }).filter(
      (name) => !metricNames.has(name),
    );
    expect(unknown).toEqual([]);
  });

  it("have their rates over the database's window", async () => {
    await using t = await setup();
    const database = await t.connect({ metricsWindowSeconds: 3_600 });
    await using topics = new PostgresTopics(database);
    const writer = await topics.writer(BatchInfoSchema, { topic });
    const reader = await topics.reader(BatchInfoSchema, { topic, group: "g" });
    await writer.send(info("m"));
    await reader.ack(await one(reader));
    // One message in an hour; in a window of five seconds it would be one in at most five.
    expect(writer.getMetrics().messages_sent_per_sec).toBeLessThan(1 / 1_000);
    expect(reader.getMetrics().messages_received_per_sec).toBeLessThan(1 / 1_000);
  });

  it("work in a schema of another name", async () => {
    await using t = await setup({ empty: true });
    const database = await t.connect({ schema: "crew" });
    const { migrate } = await import("../database/index.ts");
    await migrate(database);
    await using topics = new PostgresTopics(database);
    const writer = await topics.writer(MetadataInfoSchema, { topic: "metadata-topic" });
    const reader = await topics.reader(MetadataInfoSchema, { topic: "metadata-topic", group: "g" });
    await writer.send(create(MetadataInfoSchema, { storageKey: "m" }));
    const message = await one(reader);
    await reader.ack(message);
  });
});
