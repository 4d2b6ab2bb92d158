import assert from "node:assert/strict";
import { arriveMs, names, type Stage, take, takeOne } from "./harness.ts";

/** Operating on groups: pause, seek, delete, lag, retention. */
export const groupCases: Readonly<Record<string, (stage: Stage) => Promise<void>>> = {
  "hands nothing out to a paused group, and goes on when it is resumed": async (stage) => {
    const reader = await stage.reader("a");
    const other = await stage.reader("b");
    await stage.topics.pauseGroup(stage.topic, "a");
    await stage.send(0, 1);
    assert.equal(await reader.poll(300), undefined);
    assert.equal((await stage.topics.listGroups(stage.topic))[0]?.isPaused, true);
    await takeOne(other);
    const polling = reader.poll(arriveMs);
    await stage.topics.resumeGroup(stage.topic, "a");
    assert.equal((await polling)?.payload.storageKey, "m0");
  },

  "seeks to beginning, end, a position and a time; what was held is stale": async (stage) => {
    const { topics, topic } = stage;
    const reader = await stage.reader("a");
    await stage.send(0, 4);
    const messages = await take(reader, 4);
    await reader.ack(messages.slice(0, 3));

    await topics.seekGroup(topic, "a", "beginning");
    await assert.rejects(reader.ack(messages.slice(3)), { code: "STALE_MESSAGE" });
    const replayed = await take(reader, 4);
    assert.deepEqual(names(replayed), ["m0", "m1", "m2", "m3"]);
    await reader.ack(replayed);

    await topics.seekGroup(topic, "a", { position: messages[2]?.position ?? 0 });
    const tail = await take(reader, 2);
    assert.deepEqual(names(tail), ["m2", "m3"]);
    await reader.ack(tail);

    await topics.seekGroup(topic, "a", { time: new Date(0) });
    assert.equal((await topics.listGroups(topic))[0]?.messages, 4);
    await topics.seekGroup(topic, "a", { time: new Date(Date.now() + 3_600_000) });
    assert.equal(await reader.poll(100), undefined);

    await topics.seekGroup(topic, "a", "beginning");
    await topics.seekGroup(topic, "a", "end");
    assert.equal(await reader.poll(100), undefined);
    await stage.send(4, 5);
    assert.deepEqual(names([await takeOne(reader)]), ["m4"]);
  },

  "deletes a group: its readers fail, a new group of the name starts over": async (stage) => {
    const reader = await stage.reader("a");
    await stage.send(0, 2);
    await reader.ack(await takeOne(reader));
    await stage.topics.deleteGroup(stage.topic, "a");
    await assert.rejects(reader.poll(arriveMs), { code: "TOPIC_GROUP_NOT_FOUND" });
    assert.deepEqual(await stage.topics.listGroups(stage.topic), []);
    const again = await stage.reader("a");
    assert.deepEqual(names(await take(again, 2)), ["m0", "m1"]);
  },

  "names the topic or group that is not there": async (stage) => {
    const { topics, topic } = stage;
    await stage.writer();
    await assert.rejects(topics.listGroups("nowhere"), { code: "TOPIC_NOT_FOUND" });
    await assert.rejects(topics.redrive("nowhere"), { code: "TOPIC_NOT_FOUND" });
    await assert.rejects(topics.setRetention("nowhere", 1000), { code: "TOPIC_NOT_FOUND" });
    await assert.rejects(topics.pauseGroup(topic, "nobody"), { code: "TOPIC_GROUP_NOT_FOUND" });
    await assert.rejects(topics.seekGroup(topic, "nobody", "end"), { code: "TOPIC_GROUP_NOT_FOUND" });
    await assert.rejects(topics.deleteGroup(topic, "nobody"), { code: "TOPIC_GROUP_NOT_FOUND" });
  },

  "tells each group's lag: messages by state and the age of the oldest": async (stage) => {
    const { topics, topic } = stage;
    const busy = await stage.reader("busy");
    await stage.reader("idle");
    await stage.send(0, 5);
    const [first, second] = await take(busy, 3);
    assert.ok(first && second);
    await busy.ack(first);
    const [lag, idle] = await topics.listGroups(topic);
    assert.deepEqual([lag?.group, lag?.messages, lag?.ready, lag?.claimed], ["busy", 4, 2, 2]);
    assert.deepEqual([idle?.group, idle?.messages], ["idle", 5]);
    assert.ok(lag?.oldestAgeMs !== null && (lag?.oldestAgeMs ?? -1) >= 0 && (lag?.oldestAgeMs ?? 0) < 60_000);
    const [ofRun] = await topics.listGroups(topic, { runId: "run-1" });
    assert.deepEqual([ofRun?.messages, ofRun?.oldestAgeMs], [0, null]);
    const listed = (await topics.listTopics()).find(({ name }) => name === topic);
    assert.deepEqual(
      [listed?.messages, listed?.groups, listed?.messageType],
      [5, 2, "tallyman.v1.BatchInfo"],
    );
  },

  "forgets what is older than the retention": async (stage) => {
    const { topics, topic } = stage;
    const reader = await stage.reader("a");
    await stage.send(0, 6);
    const messages = await take(reader, 6);
    await reader.ack(messages.slice(0, 4));
    await topics.setRetention(topic, 100);
    const spared = topics.capabilities.retentionSparesUnacknowledged ? 2 : 0;
    await untilRetained(stage, spared);
    const listed = (await topics.listTopics()).find(({ name }) => name === topic);
    assert.equal(listed?.retentionMs, 100);
    const replay = await stage.reader("replay");
    if (spared > 0) assert.deepEqual(names(await take(replay, 2)), ["m4", "m5"]);
    assert.equal(await replay.poll(0), undefined);
    if (spared > 0) await reader.ack(messages.slice(4));
  },
};

const sweepsMax = 100;

/** Sweeps until only `count` messages are left; a poll of an empty group passes the time. */
async function untilRetained(stage: Stage, count: number): Promise<void> {
  const idle = await stage.reader("idle", { startAt: "now" });
  for (let sweep = 0; sweep < sweepsMax; sweep++) {
    await stage.topics.sweepRetention();
    const listed = (await stage.topics.listTopics()).find(({ name }) => name === stage.topic);
    if (listed?.messages === count) return;
    await idle.poll(50);
  }
  assert.fail(`Retention did not leave ${count} messages.`);
}
