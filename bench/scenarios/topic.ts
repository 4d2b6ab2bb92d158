import { BatchInfoSchema } from "../../src/contracts/index.ts";
import { Database } from "../../src/database/index.ts";
import { NatsServer, natsProgram } from "../../src/testing/index.ts";
import { NatsTopics, PostgresTopics, type Topics } from "../../src/topics/index.ts";
import { pgbenchMissing, runPgbench } from "../harness/pgbench.ts";
import type { Contender, Context, Scenario } from "../harness/scenario.ts";
import {
  batchSize,
  type Connect,
  consumer,
  group,
  publisher,
  type TopicLoad,
  topic,
} from "../topics/load.ts";
import { consumeScript, publishScript, type Target } from "../topics/pgbench.ts";

interface Size extends TopicLoad {
  /** Messages that are there before. */
  readonly backlog: number;
}

/** One of the two scenarios: the load through our API, and its statements. */
interface Work {
  readonly start: typeof publisher;
  readonly script: typeof publishScript;
}

const publishing: Work = { start: publisher, script: publishScript };
const consuming: Work = { start: consumer, script: consumeScript };

/** Clients that are closed together. */
class Clients implements AsyncDisposable {
  readonly #opened: AsyncDisposable[] = [];

  keep<Kept extends AsyncDisposable>(opened: Kept): Kept {
    this.#opened.push(opened);
    return opened;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const each of this.#opened.toReversed()) await each[Symbol.asyncDispose]();
  }
}

async function prepareTopic({ database, size }: Context<Size>): Promise<Target> {
  await using topics = new PostgresTopics(database);
  await topics.reader(BatchInfoSchema, { topic, group });
  const { rows } = await database.query<Target>(
    `SELECT topic_id AS "topicId", group_id AS "groupId" FROM tallyman.topic_group`,
  );
  const [target] = rows as [Target];
  await database.query(
    `WITH m AS (INSERT INTO tallyman.topic_message (topic_id, run_id, payload)
       SELECT $1, '', decode(repeat('ab', 96), 'hex') FROM generate_series(1, $3) RETURNING message_id)
     INSERT INTO tallyman.topic_delivery (group_id, message_id, run_id) SELECT $2, message_id, '' FROM m`,
    [target.topicId, target.groupId, size.backlog],
  );
  await database.query("VACUUM tallyman.topic_delivery");
  return target;
}

function ours({ start }: Work): Contender<Size> {
  return {
    name: "Tallyman on PostgreSQL",
    kind: "ours",
    settings: `one process; each client with a pool of two connections; batches of ${batchSize}`,
    async run(context) {
      await prepareTopic(context);
      await using clients = new Clients();
      const connect: Connect = async () => {
        const database = clients.keep(await Database.connect({ url: context.url, poolMax: 2 }));
        return clients.keep(new PostgresTopics(database));
      };
      return await context.measure(await start(connect, context.size));
    },
  };
}

function jetStream({ start }: Work): Contender<Size> {
  return {
    name: "NATS JetStream",
    kind: "peer",
    settings: `one nats-server, through our driver; it answers before the disk has the message; batches of ${batchSize}`,
    missing: () => (natsProgram() ? undefined : "nats-server is not installed"),
    async run({ size, measure }) {
      await using server = await NatsServer.start();
      await using clients = new Clients();
      const connect: Connect = async (): Promise<Topics> =>
        clients.keep(await NatsTopics.connect({ servers: server.url }));
      if (start === consumer) await (await publisher(connect, size))(); // as long again: enough for all
      return await measure(await start(connect, size));
    },
  };
}

function limit({ script }: Work): Contender<Size> {
  return {
    name: "pgbench",
    kind: "limit",
    settings: `our own statements, ${batchSize} messages each`,
    missing: pgbenchMissing,
    async run(context) {
      const text = await script(await prepareTopic(context));
      const { url, size } = context;
      return context.measure(async () => {
        const { times, seconds } = await runPgbench({ url, script: text, ...size });
        return { items: times * batchSize, seconds };
      });
    },
  };
}

function topicScenario(name: string, what: string, work: Work, backlogs: Record<"quick" | "full", number>) {
  return {
    name,
    what,
    sizes: {
      quick: { clients: 4, seconds: 3, backlog: backlogs.quick },
      full: { clients: 4, seconds: 10, backlog: backlogs.full },
    },
    warmUp: { clients: 4, seconds: 1, backlog: backlogs.quick / 5 },
    figures: { perSecond: "messages/s" },
    goals: [{ against: "pgbench", ratio: 0.6 }],
    contenders: [ours(work), jetStream(work), limit(work)],
  } satisfies Scenario<Size>;
}

export const topicPublish: Scenario<Size> = topicScenario(
  "topic-publish",
  "Messages published to a topic with one group.",
  publishing,
  { quick: 0, full: 0 },
);

export const topicConsume: Scenario<Size> = topicScenario(
  "topic-consume",
  "Messages claimed and acknowledged by one group.",
  consuming,
  { quick: 300_000, full: 1_000_000 },
);
