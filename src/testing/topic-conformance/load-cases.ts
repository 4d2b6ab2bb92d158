import assert from "node:assert/strict";
import { names, type Stage, shortClaimMs, takeOne } from "./harness.ts";

/** Rows of the table that the transactional case writes beside its acks. */
const consumerCount = 8;
const pollSize = 50;
const idleMs = 500;

/** The ack of a rolled-back transaction did not happen, nor did its send. */
export async function rollsBack(stage: Stage): Promise<void> {
  const { harness } = stage;
  assert.ok(harness.transaction, "a driver with transactionalAck brings transaction()");
  const reader = await stage.reader("a", { claimTimeoutMs: shortClaimMs });
  const writer = await stage.writer();
  await stage.send(0, 1, writer);
  const message = await takeOne(reader);
  const rolledBack = harness.transaction(async (tx) => {
    await reader.ack(message, { tx });
    await writer.send(message.payload, { key: "again", tx });
    throw new Error("changed my mind");
  });
  await assert.rejects(rolledBack, /changed my mind/);
  const again = await takeOne(reader);
  assert.deepEqual([again.payload.storageKey, again.deliveries], ["m0", 2]);
  const late = harness.transaction((tx) => reader.ack(message, { tx }));
  await assert.rejects(late, { code: "STALE_MESSAGE" });
  await harness.transaction((tx) => reader.ack(again, { tx }));
  assert.equal(await reader.poll(shortClaimMs * 2), undefined, "acked, and the other send never was");
}

/** A consumer dies with SIGKILL: its message goes to another. */
export async function survivesCrash(stage: Stage): Promise<void> {
  const claimTimeoutMs = shortClaimMs * 3;
  await stage.reader("a", { claimTimeoutMs });
  await stage.send(0, 1);
  await stage.harness.claimAndDie?.({ topic: stage.topic, group: "a", claimTimeoutMs });
  const reader = await stage.reader("a", { claimTimeoutMs });
  const message = await takeOne(reader);
  assert.deepEqual(names([message]), ["m0"]);
  assert.equal(message.deliveries, 2);
  await reader.ack(message);
}

/** Many messages, eight consumers: each message succeeds once. */
export async function losesNothing(stage: Stage, messages: number): Promise<void> {
  const writer = await stage.writer();
  await stage.reader("a");
  const succeeded = new Map<string, number>();
  const publishing = publishAll(stage, messages);
  const consumers = Array.from({ length: consumerCount }, () => consume(stage, succeeded, messages));
  await Promise.all([publishing, ...consumers]);
  assert.equal(succeeded.size, messages, "none lost");
  const twice = [...succeeded].filter(([, count]) => count !== 1);
  assert.deepEqual(twice, [], "none succeeded twice");
  assert.equal((await stage.topics.listGroups(stage.topic))[0]?.messages, 0);
  assert.equal(writer.isHealthy(), true);
}

async function publishAll(stage: Stage, messages: number): Promise<void> {
  const writer = await stage.writer();
  const step = 500;
  for (let from = 0; from < messages; from += step) {
    await stage.send(from, Math.min(from + step, messages), writer);
  }
}

async function consume(stage: Stage, succeeded: Map<string, number>, until: number): Promise<void> {
  const reader = await stage.reader("a", {}, await stage.harness.connect());
  while (succeeded.size < until) {
    const taken = await reader.pollMany(pollSize, idleMs);
    await reader.ack(taken);
    for (const name of names(taken)) succeeded.set(name, (succeeded.get(name) ?? 0) + 1);
  }
}
