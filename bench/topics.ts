/*
 * Topics: messages published, and claimed + acknowledged, per second, in batches of 100.
 *
 *   node --import tsx bench/topics.ts [--json] [--seconds 5] [--clients 1,4] [--backlog 150000]
 *
 * The same statements run through pgbench beside it (batches of 100, extended protocol); the ratio is what the
 * library costs. PostgreSQL is the embedded one with its default settings (commits wait for the disk), in a folder
 * of its own; JetStream is a single nats-server, which answers before the disk has the message. Each figure is the
 * median of --samples runs; ours and pgbench alternate, each on a fresh database. What is not installed is shown as missing.
 */
import { parseArgs } from "node:util";
import { BatchInfoSchema } from "../src/contracts/index.ts";
import { Database, EmbeddedServer, migrate } from "../src/database/index.ts";
import { configureLogging } from "../src/runtime/index.ts";
import { NatsServer, natsProgram } from "../src/testing/index.ts";
import { NatsTopics, PostgresTopics } from "../src/topics/index.ts";
import { type Connect, consumeRate, group, publishRate, topic } from "./topics/load.ts";
import { pgbenchRate, type Target } from "./topics/pgbench.ts";

const { values: flags } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    seconds: { type: "string", default: "5" },
    clients: { type: "string", default: "1,4" },
    backlog: { type: "string", default: "150000" },
    samples: { type: "string", default: "3" },
  },
});
const seconds = Number(flags.seconds);
const backlog = Number(flags.backlog);
const samples = Number(flags.samples);

interface Row {
  readonly what: "publish" | "consume+ack";
  readonly clients: number;
  readonly postgres: number;
  readonly pgbench: number | null;
  readonly ratio: number | null;
  readonly jetstream: number | null;
}

/** A database of its own with one topic and group, dropped at the end. */
async function onDatabase<T>(
  server: EmbeddedServer,
  fill: number,
  work: (target: Target, connect: Connect) => Promise<T>,
): Promise<T> {
  const admin = await Database.connect({ url: server.url(), listenUrl: null });
  const name = `bench_topics_${process.pid}`;
  await admin.query(`CREATE DATABASE ${name}`);
  const url = new URL(server.url());
  url.pathname = `/${name}`;
  const opened: AsyncDisposable[] = [];
  const connect: Connect = async () => {
    const database = await Database.connect({ url: url.toString(), poolMax: 2 });
    const topics = new PostgresTopics(database);
    opened.push(database, topics);
    return topics;
  };
  try {
    const target = await prepare(url.toString(), connect, fill);
    return await work(target, connect);
  } finally {
    for (const each of opened.toReversed()) await each[Symbol.asyncDispose]();
    await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
    await admin.close();
  }
}

async function prepare(url: string, connect: Connect, fill: number): Promise<Target> {
  await using database = await Database.connect({ url, listenUrl: null });
  await migrate(database);
  const topics = await connect();
  await topics.reader(BatchInfoSchema, { topic, group });
  const { rows } = await database.query<{ topicId: number; groupId: number }>(
    `SELECT topic_id AS "topicId", group_id AS "groupId" FROM tallyman.topic_group`,
  );
  const [{ topicId, groupId }] = rows as [{ topicId: number; groupId: number }];
  await database.query(
    `WITH m AS (INSERT INTO tallyman.topic_message (topic_id, run_id, payload)
       SELECT $1, '', decode(repeat('ab', 96), 'hex') FROM generate_series(1, $3) RETURNING message_id)
     INSERT INTO tallyman.topic_delivery (group_id, message_id, run_id) SELECT $2, message_id, '' FROM m`,
    [topicId, groupId, fill],
  );
  await database.query("VACUUM (ANALYZE) tallyman.topic_delivery");
  await database.query("CHECKPOINT");
  return { url, topicId, groupId };
}

async function onNats(what: Row["what"], clients: number): Promise<number | null> {
  if (!natsProgram()) return null;
  await using server = await NatsServer.start();
  const opened: AsyncDisposable[] = [];
  const connect: Connect = async () => {
    const topics = await NatsTopics.connect({ servers: server.url });
    opened.push(topics);
    return topics;
  };
  try {
    if (what === "publish") return await publishRate(connect, clients, seconds);
    await publishRate(connect, 1, seconds);
    return await consumeRate(connect, clients, seconds);
  } finally {
    for (const each of opened) await each[Symbol.asyncDispose]();
  }
}

function median(figures: readonly (number | null)[]): number | null {
  const sorted = figures.filter((figure) => figure !== null).toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? null;
}

async function sample(server: EmbeddedServer, what: Row["what"], clients: number): Promise<Row> {
  const fill = what === "publish" ? 0 : backlog;
  const ours = what === "publish" ? publishRate : consumeRate;
  const theirs = what === "publish" ? "publish" : "consume";
  const postgres = await onDatabase(server, fill, (_, connect) => ours(connect, clients, seconds));
  const limit = (target: Target) => pgbenchRate(theirs, target, { clients, seconds });
  const pgbench = (await onDatabase(server, fill, limit)) ?? null;
  const jetstream = await onNats(what, clients);
  return { what, clients, postgres, pgbench, ratio: pgbench && postgres / pgbench, jetstream };
}

/** Medians of the samples; the ratio is the median of each pair's, for the pair ran side by side. */
async function measure(server: EmbeddedServer, what: Row["what"], clients: number): Promise<Row> {
  const taken: Row[] = [];
  while (taken.length < samples) taken.push(await sample(server, what, clients));
  const middle = (name: "postgres" | "pgbench" | "ratio" | "jetstream", digits: number) => {
    const value = median(taken.map((row) => row[name]));
    return value === null ? null : Number(value.toFixed(digits));
  };
  return {
    what,
    clients,
    postgres: middle("postgres", 0) ?? 0,
    pgbench: middle("pgbench", 0),
    ratio: middle("ratio", 2),
    jetstream: middle("jetstream", 0),
  };
}

configureLogging({ level: "warn" });
await using server = await EmbeddedServer.attach({
  folder: ".tallyman/bench-postgres",
  settings: { shared_buffers: "512MB" },
});
const rows: Row[] = [];
for (const what of ["publish", "consume+ack"] as const) {
  for (const clients of flags.clients.split(",").map(Number)) {
    const row = await measure(server, what, clients);
    rows.push(row);
    if (!flags.json) printRow(row);
  }
}
if (flags.json)
  console.log(JSON.stringify({ batch: 100, seconds, samples, backlog, unit: "messages/s", rows }, null, 2));

function printRow({ what, clients, postgres, pgbench, ratio, jetstream }: Row): void {
  const shown = (value: number | null) => (value === null ? "missing" : value.toLocaleString("en"));
  console.log(
    `${what}, ${clients} client(s): ${shown(postgres)} messages/s; pgbench ${shown(pgbench)} (ratio ${ratio ?? "missing"}); JetStream ${shown(jetstream)}`,
  );
}
