/**
 * Claims one message of a topic for a group, prints `claimed <position>`, and then holds it until killed.
 * Arguments: topic, group, claimTimeoutMs. DATABASE_URL or NATS_URL says where.
 */
import { BatchInfoSchema } from "../../src/contracts/index.ts";
import { Database } from "../../src/database/index.ts";
import { NatsTopics, PostgresTopics, type Topics } from "../../src/topics/index.ts";

const [topic = "", group = "", claimTimeoutMs = ""] = process.argv.slice(2);

async function open(): Promise<Topics> {
  const servers = process.env.NATS_URL;
  if (servers !== undefined) return NatsTopics.connect({ servers });
  return new PostgresTopics(await Database.connect({ url: process.env.DATABASE_URL ?? "" }));
}

const topics = await open();
const reader = await topics.reader(BatchInfoSchema, { topic, group, claimTimeoutMs: Number(claimTimeoutMs) });
const message = await reader.poll(30_000);
process.stdout.write(`claimed ${message?.position}\n`);
setInterval(() => undefined, 60_000);
