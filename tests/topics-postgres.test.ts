import { describe, it } from "vitest";
import { Database } from "../src/database/index.ts";
import { setup, type TopicHarness, topicConformance } from "../src/testing/index.ts";
import { PostgresTopics } from "../src/topics/index.ts";
import { startChild } from "./kit/children.ts";

const consumerScript = new URL("./children/topic-consumer.child.ts", import.meta.url);

const capabilities = {
  transactionalAck: true,
  fencedAck: true,
  unboundedIdempotency: true,
  retentionSparesUnacknowledged: true,
  redriveKeepsPosition: true,
};

async function open(): Promise<TopicHarness> {
  const t = await setup();
  const connect = async () => {
    const database = t.use(await Database.connect({ url: t.url, poolMax: 4 }));
    return t.use(new PostgresTopics(database));
  };
  return {
    topics: await connect(),
    connect,
    transaction: (work) => t.database.transaction(work),
    claimAndDie: async ({ topic, group, claimTimeoutMs }) => {
      await using child = startChild(consumerScript, {
        args: [topic, group, String(claimTimeoutMs)],
        env: { DATABASE_URL: t.url },
      });
      await child.line("claimed");
      child.kill("SIGKILL");
      await child.exit;
    },
    [Symbol.asyncDispose]: () => t[Symbol.asyncDispose](),
  };
}

describe("PostgresTopics", () => {
  for (const { name, isSkipped, run } of topicConformance({ open, capabilities })) {
    it.skipIf(isSkipped)(name, run);
  }
});
