import assert from "node:assert/strict";
import { StaleMessageError } from "../../topics/index.ts";
import { arriveMs, named, names, type Stage, shortClaimMs, take, takeOne } from "./harness.ts";

function isStale(count: number): (error: unknown) => boolean {
  return (error) =>
    error instanceof StaleMessageError && error.code === "STALE_MESSAGE" && error.messages.length === count;
}

/** Acknowledging, handing back, holding on, and being too late for it. */
export const settlementCases: Readonly<Record<string, (stage: Stage) => Promise<void>>> = {
  "never hands out again what is acknowledged; a second ack is stale": async (stage) => {
    const reader = await stage.reader("a", { claimTimeoutMs: shortClaimMs });
    await stage.send(0, 2);
    const messages = await take(reader, 2);
    await reader.ack(messages);
    assert.equal(await reader.poll(shortClaimMs * 2), undefined);
    await assert.rejects(reader.ack(messages), isStale(2));
  },

  "gives a stuck message to another consumer, with a higher version and count": async (stage) => {
    const stuck = await stage.reader("a", { claimTimeoutMs: shortClaimMs });
    const other = await stage.reader("a", { claimTimeoutMs: shortClaimMs }, await stage.harness.connect());
    await stage.send(0, 1);
    const first = await takeOne(stuck);
    assert.equal(first.deliveries, 1);
    const second = await takeOne(other);
    assert.equal(second.payload.storageKey, "m0");
    assert.equal(second.deliveries, 2);
    assert.ok(second.claimVersion > first.claimVersion);
    await other.ack(second);
  },

  "rejects the late ack, nack, extend and dead letter of a reassigned message, and says so": async (
    stage,
  ) => {
    const stuck = await stage.reader("a", { claimTimeoutMs: shortClaimMs });
    await stage.send(0, 1);
    const first = await takeOne(stuck);
    const other = await stage.reader("a", { claimTimeoutMs: shortClaimMs }, await stage.harness.connect());
    const second = await takeOne(other);
    await assert.rejects(stuck.ack(first), isStale(1));
    await assert.rejects(stuck.nack(first), isStale(1));
    await assert.rejects(stuck.extend(first), isStale(1));
    await assert.rejects(stuck.deadLetter(first, { error: "late", sourceService: "test" }), isStale(1));
    assert.equal(stuck.getMetrics().stale_messages, 4);
    await other.ack(second);
    assert.equal(await other.poll(shortClaimMs * 2), undefined);
  },

  "keeps a message that is extended": async (stage) => {
    const claimTimeoutMs = shortClaimMs * 8;
    const holder = await stage.reader("a", { claimTimeoutMs });
    const other = await stage.reader("a", { claimTimeoutMs }, await stage.harness.connect());
    await stage.send(0, 1);
    const message = await takeOne(holder);
    for (let i = 0; i < 10; i++) {
      assert.equal(await other.poll(shortClaimMs), undefined);
      await holder.extend(message);
    }
    await holder.ack(message);
    assert.equal(await other.poll(claimTimeoutMs + shortClaimMs), undefined);
  },

  "never reassigns with claimTimeoutMs 0": async (stage) => {
    const holder = await stage.reader("a", { claimTimeoutMs: 0 });
    await stage.send(0, 1);
    const message = await takeOne(holder);
    assert.equal(await holder.poll(shortClaimMs), undefined);
    await holder.extend(message);
    await holder.ack(message);
  },

  "hands a message back at once or after a delay, and counts deliveries": async (stage) => {
    const reader = await stage.reader("a");
    await stage.send(0, 1);
    await reader.nack(await takeOne(reader));
    const again = await takeOne(reader);
    assert.equal(again.deliveries, 2);
    const delayMs = 2_000;
    const startMs = performance.now();
    await reader.nack(again, { delayMs, error: "not yet" });
    await assert.rejects(reader.ack(again), isStale(1));
    assert.equal(await reader.poll(100), undefined);
    const third = await takeOne(reader);
    assert.ok(performance.now() - startMs >= delayMs - 10, "the delay was kept");
    assert.ok(performance.now() - startMs < arriveMs / 2, "and not much more");
    assert.equal(third.deliveries, 3);
    await reader.ack(third);
  },

  "acknowledges the held ones of a list and names the stale ones": async (stage) => {
    const reader = await stage.reader("a");
    await stage.send(0, 3);
    const messages = await take(reader, 3);
    await reader.ack(messages.slice(1, 2));
    await assert.rejects(reader.ack(messages), isStale(1));
    assert.equal((await stage.topics.listGroups(stage.topic))[0]?.messages, 0);
  },

  "moves a poison message to the dead-letter topic and takes it back": async (stage) => {
    const reader = await stage.reader("a");
    const bystander = await stage.reader("b");
    const writer = await stage.writer("run-1");
    for (const each of [reader, bystander]) each.setSimulationRun("run-1");
    await writer.sendMany(["good", "bad"].map((name) => ({ message: named(name) })));
    const [good, bad] = await take(reader, 2);
    assert.ok(good && bad);
    await reader.ack(good);
    await reader.deadLetter(bad, { error: new Error("can't read"), sourceService: "test" });
    assert.equal(await reader.poll(100), undefined);
    await assert.rejects(reader.ack(bad), isStale(1));
    await bystander.ack(await take(bystander, 2));
    await checkLetter(stage, bad.bytes);

    assert.equal(await stage.topics.redrive(stage.topic, { group: "b" }), 0);
    assert.equal(await stage.topics.redrive(stage.topic, { group: "a" }), 1);
    assert.equal(await stage.topics.redrive(stage.topic), 0);
    const again = await takeOne(reader);
    assert.deepEqual(names([again]), ["bad"]);
    if (stage.topics.capabilities.redriveKeepsPosition) assert.equal(again.position, bad.position);
    await reader.ack(again);
    assert.equal(await bystander.poll(100), undefined, "only the group that gave it up gets it back");
  },
};

async function checkLetter(stage: Stage, original: Uint8Array): Promise<void> {
  const { DeadLetterMessageSchema } = await import("../../contracts/index.ts");
  const letters = await stage.topics.reader(DeadLetterMessageSchema, {
    topic: `${stage.topic}-dead-letters`,
    group: "watcher",
    runId: "run-1",
  });
  const letter = await letters.poll(arriveMs);
  assert.ok(letter);
  const { originalMessage, messageType, failureReason, retryCount, sourceService, stackTraceLines } =
    letter.payload;
  assert.deepEqual(Buffer.from(originalMessage), Buffer.from(original));
  assert.deepEqual(
    [messageType, failureReason, retryCount, sourceService],
    ["tallyman.v1.BatchInfo", "Error: can't read", 0, "test"],
  );
  assert.ok(stackTraceLines.length > 0 && stackTraceLines.length <= 10);
  const listed = (await stage.topics.listTopics()).find(({ name }) => name.endsWith("-dead-letters"));
  assert.equal(listed?.deadLettersOf, stage.topic);
}
