import assert from "node:assert/strict";
import { arriveMs, named, names, type Stage, take, takeOne } from "./harness.ts";

/** Order, groups, runs and idempotency. */
export const deliveryCases: Readonly<Record<string, (stage: Stage) => Promise<void>>> = {
  "hands messages out in the order of publishing, whole and with their keys": async (stage) => {
    const writer = await stage.writer();
    const reader = await stage.reader("a");
    await writer.send(named("first"), { key: "k" });
    await writer.sendMany(["second", "third"].map((name) => ({ message: named(name) })));
    const messages = await take(reader, 3);
    assert.deepEqual(names(messages), ["first", "second", "third"]);
    assert.deepEqual(
      messages.map(({ key }) => key),
      ["k", undefined, undefined],
    );
    const positions = messages.map(({ position }) => position);
    assert.deepEqual(
      positions,
      positions.toSorted((a, b) => a - b),
    );
    assert.ok(
      Math.abs(Date.now() - (messages[0]?.publishedAt.getTime() ?? 0)) < 60_000,
      "publishedAt is now",
    );
    assert.deepEqual(
      [messages[0]?.topic, messages[0]?.group, messages[0]?.runId],
      [stage.topic, "a", undefined],
    );
  },

  "refuses a key that can't be stored, and sends nothing": async (stage) => {
    const writer = await stage.writer();
    const reader = await stage.reader("a");
    for (const key of ["", "a\0b", "a\nb", "\ud800", "x".repeat(513)]) {
      const sending = writer.sendMany([{ message: named("good") }, { message: named("bad"), key }]);
      await assert.rejects(sending, { code: "INVALID_OPTION" });
    }
    assert.equal(await reader.poll(0), undefined);
  },

  "waits in poll until a message is published, and no longer than asked": async (stage) => {
    const reader = await stage.reader("a");
    const startMs = performance.now();
    assert.equal(await reader.poll(300), undefined);
    assert.ok(performance.now() - startMs >= 290, "it waited");
    const polling = reader.poll(arriveMs);
    await stage.send(0, 1);
    assert.equal((await polling)?.payload.storageKey, "m0");
  },

  "ends a waiting poll when its signal is aborted, and loses nothing": async (stage) => {
    const reader = await stage.reader("a");
    const controller = new AbortController();
    const polling = reader.poll(arriveMs, controller.signal);
    const ended = assert.rejects(polling, { code: "ABORTED" });
    controller.abort();
    await ended;
    await stage.send(0, 1);
    assert.deepEqual(names([await takeOne(reader)]), ["m0"]);
  },

  "lets the members of a group compete: each message goes to one": async (stage) => {
    await stage.send(0, 40);
    const first = await stage.reader("a");
    const second = await stage.reader("a", {}, await stage.harness.connect());
    const [one, two] = await Promise.all([take(first, 20), take(second, 20)]);
    const all = [...names(one), ...names(two)];
    assert.equal(new Set(all).size, 40);
    assert.equal(await first.poll(0), undefined);
  },

  "gives every group every message": async (stage) => {
    const groups = [await stage.reader("a"), await stage.reader("b")];
    await stage.send(0, 10);
    for (const reader of groups) {
      const messages = await take(reader, 10);
      await reader.ack(messages);
      assert.equal(await reader.poll(0), undefined);
    }
  },

  "replays history to a new group from the beginning, and nothing from now": async (stage) => {
    await stage.send(0, 5);
    const late = await stage.reader("late", { startAt: "now" });
    const replay = await stage.reader("replay", { startAt: "beginning" });
    assert.deepEqual(names(await take(replay, 5)), ["m0", "m1", "m2", "m3", "m4"]);
    assert.equal(await late.poll(100), undefined);
    await stage.send(5, 6);
    assert.deepEqual(names(await take(late, 1)), ["m5"]);
    const again = await stage.reader("late", { startAt: "beginning" });
    assert.equal(await again.poll(100), undefined, "startAt counts for new groups only");
  },

  "keeps simulation runs apart": async (stage) => {
    const writer = await stage.writer("run-1");
    const reader = await stage.reader("a");
    await writer.send(named("one"), { key: "k" });
    writer.setSimulationRun("run-2");
    assert.equal(await writer.send(named("two"), { key: "k" }), "sent", "keys count within a run");
    assert.equal(await reader.poll(100), undefined, "a reader without a run sees no run");
    reader.setSimulationRun("run-2");
    const two = await takeOne(reader);
    assert.deepEqual([two.payload.storageKey, two.runId], ["two", "run-2"]);
    reader.setSimulationRun("run-1");
    const one = await takeOne(reader);
    assert.equal(one.payload.storageKey, "one");
    await reader.ack([two, one]);
  },

  "stores a message with a known key once": async (stage) => {
    const writer = await stage.writer();
    const reader = await stage.reader("a");
    assert.equal(await writer.send(named("a"), { key: "k" }), "sent");
    assert.equal(await writer.send(named("b"), { key: "k" }), "duplicate");
    const outcomes = await writer.sendMany(
      ["k", "l", "l", undefined, undefined].map((key, i) => ({
        message: named(`c${i}`),
        ...(key !== undefined && { key }),
      })),
    );
    assert.deepEqual(outcomes, ["duplicate", "sent", "duplicate", "sent", "sent"]);
    assert.deepEqual(names(await take(reader, 4)), ["a", "c1", "c3", "c4"]);
    assert.equal(await reader.poll(0), undefined);
  },

  "refuses a topic of another type, bad names and a bad run": async (stage) => {
    await stage.writer();
    const { MetadataInfoSchema } = await import("../../contracts/index.ts");
    await assert.rejects(stage.topics.writer(MetadataInfoSchema, { topic: stage.topic }), {
      code: "TOPIC_TYPE_MISMATCH",
    });
    await assert.rejects(stage.reader("a b"), { code: "INVALID_OPTION" });
    await assert.rejects(stage.reader("a", { claimTimeoutMs: -1 }), { code: "INVALID_OPTION" });
    const reader = await stage.reader("a");
    assert.throws(() => reader.setSimulationRun("../x"), { code: "RUN_ID_INVALID" });
    await assert.rejects(reader.pollMany(0, 0), { code: "INVALID_OPTION" });
  },
};
