import { create } from "@bufbuild/protobuf";
import { jetstreamManager } from "@nats-io/jetstream";
import { type NatsConnection, connect as natsConnect } from "@nats-io/transport-node";
import { describe, expect, it } from "vitest";
import { BatchInfoSchema } from "../src/contracts/index.ts";
import {
  NatsServer,
  natsProgram,
  setup,
  startNatsCluster,
  type TopicHarness,
  topicConformance,
} from "../src/testing/index.ts";
import { NatsTopics } from "../src/topics/index.ts";
import { startChild } from "./kit/children.ts";

const consumerScript = new URL("./children/topic-consumer.child.ts", import.meta.url);
const isMissing = natsProgram() === undefined;
const why = isMissing ? " (skipped: nats-server is not installed)" : "";
const messages = Number(process.env.TALLYMAN_NATS_MESSAGES ?? 3_000);

const capabilities = {
  transactionalAck: false,
  fencedAck: false,
  unboundedIdempotency: false,
  retentionSparesUnacknowledged: false,
  redriveKeepsPosition: false,
};

async function open(): Promise<TopicHarness> {
  const t = await setup();
  const server = t.use(await NatsServer.start());
  const connect = async () => t.use(await NatsTopics.connect({ servers: server.url }));
  return {
    topics: await connect(),
    connect,
    claimAndDie: async ({ topic, group, claimTimeoutMs }) => {
      await using child = startChild(consumerScript, {
        args: [topic, group, String(claimTimeoutMs)],
        env: { NATS_URL: server.url },
      });
      await child.line("claimed");
      child.kill("SIGKILL");
      await child.exit;
    },
    [Symbol.asyncDispose]: () => t[Symbol.asyncDispose](),
  };
}

describe(`NatsTopics${why}`, () => {
  for (const { name, isSkipped, run } of topicConformance({ open, capabilities })) {
    it.skipIf(isSkipped || isMissing)(name, run);
  }

  it.skipIf(isMissing)("refuses a transaction of PostgreSQL, and a server that is not there", async () => {
    await using t = await setup();
    const server = t.use(await NatsServer.start());
    const topics = t.use(await NatsTopics.connect({ servers: server.url }));
    const writer = await topics.writer(BatchInfoSchema, { topic: "t" });
    const sending = t.database.transaction((tx) => writer.send(create(BatchInfoSchema), { tx }));
    await expect(sending).rejects.toMatchObject({ code: "UNSUPPORTED_BY_DRIVER" });
    await expect(NatsTopics.connect({ servers: "nats://user:secret@127.0.0.1:1" })).rejects.toSatisfy(
      (error: Error) => !error.message.includes("secret") && error.message.includes("nats://***@127.0.0.1:1"),
    );
  });
});

describe(`dead letters on NATS${why}`, () => {
  it.skipIf(isMissing)("are kept apart by topic, and by delivery after a seek", async () => {
    await using t = await setup();
    const server = t.use(await NatsServer.start());
    const topics = t.use(await NatsTopics.connect({ servers: server.url }));
    const deadLetterFirst = async (topic: string) => {
      await using reader = await topics.reader(BatchInfoSchema, {
        topic,
        group: "g",
        deadLetterTopic: "dead",
      });
      const [message] = await reader.pollMany(1, 20_000);
      expect(message?.position).toBe(1);
      if (message) await reader.deadLetter(message, { error: new Error("no"), sourceService: "test" });
    };
    for (const topic of ["a", "b"]) {
      await using writer = await topics.writer(BatchInfoSchema, { topic });
      await writer.send(create(BatchInfoSchema));
      await deadLetterFirst(topic);
    }
    await topics.seekGroup("a", "g", "beginning");
    await deadLetterFirst("a");
    const dead = (await topics.listTopics()).find(({ name }) => name === "dead");
    expect(dead?.messages).toBe(3);
  });
});

function disposable(value: NatsConnection) {
  return { value, [Symbol.asyncDispose]: () => value.close() };
}

describe(`a NATS cluster of three${why}`, () => {
  it.skipIf(isMissing)(
    "loses nothing when the leader of the stream is killed under load",
    async () => {
      await using t = await setup();
      const cluster = t.use(await startNatsCluster(3));
      const connect = async () => t.use(await NatsTopics.connect({ servers: cluster.url, replicas: 3 }));
      const options = { topic: "t", group: "g", claimTimeoutMs: 3_000 };
      const writer = await (await connect()).writer(BatchInfoSchema, { topic: "t" });
      const received = new Set<string>();
      const consume = async () => {
        const reader = await (await connect()).reader(BatchInfoSchema, options);
        while (received.size < messages) {
          const taken = await reader.pollMany(50, 500);
          // A claim lost in the fail-over comes again; what counts here is that nothing is missing.
          await reader.ack(taken).catch(() => undefined);
          for (const { payload } of taken) received.add(payload.storageKey);
        }
      };
      const killLeader = async () => {
        await using connection = disposable(await natsConnect({ servers: cluster.url.split(",") }));
        const { cluster: placed } = await (await jetstreamManager(connection.value)).streams.info(
          "TALLYMAN-T-t",
        );
        const leader = cluster.servers.find(({ name }) => name === placed?.leader);
        expect(leader).toBeDefined();
        await leader?.kill();
      };
      const publish = async () => {
        for (let sent = 0; sent < messages; sent += 100) {
          const batch = Array.from({ length: 100 }, (_, i) => `m${sent + i}`);
          await writer.sendMany(
            batch.map((name) => ({ message: create(BatchInfoSchema, { storageKey: name }), key: name })),
          );
          if (sent === messages / 3) await killLeader();
        }
      };
      await Promise.all([publish(), consume(), consume()]);
      expect(received.size).toBe(messages);
      const [listed] = await (await connect()).listTopics();
      expect(listed?.messages, "a repeated publish is recognised").toBe(messages);
    },
    120_000,
  );
});
