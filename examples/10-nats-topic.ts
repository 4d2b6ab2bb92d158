/*
 * Topics on NATS JetStream instead of PostgreSQL: the same interface, the same guarantees. Needs a NATS server; this
 * example starts one (Debian: nats-server), or uses that of NATS_URL.
 *
 *   node --import tsx examples/10-nats-topic.ts
 */
import { create } from "@bufbuild/protobuf";
import { BatchInfoSchema, configureLogging, NatsTopics } from "../src/index.ts";
import { NatsServer } from "../src/testing/index.ts";

configureLogging({ level: "warn" });
const given = process.env.NATS_URL;
await using own = given === undefined ? await NatsServer.start() : undefined;
await using topics = await NatsTopics.connect({ servers: given ?? own?.url ?? "" });

const topic = "example-batches";
const writer = await topics.writer(BatchInfoSchema, { topic, runId: "run-1" });
const reader = await topics.reader(BatchInfoSchema, { topic, group: "readers", runId: "run-1" });
for (const storageKey of ["a", "b", "c", "a"])
  await writer.send(create(BatchInfoSchema, { storageKey }), { key: storageKey });

const keys: string[] = [];
for (let message = await reader.poll(1_000); message; message = await reader.poll(200)) {
  keys.push(message.payload.storageKey);
  await reader.ack([message]);
}
console.log(`received ${keys.join(", ")}: the second 'a' had the key of the first`);
