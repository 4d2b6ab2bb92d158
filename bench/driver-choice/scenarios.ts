import { randomUUID } from "node:crypto";
import { binaryCopyChunks, copyRows } from "./copy-rows.ts";
import { withDelay } from "./delay-proxy.ts";
import { type DriverName, open, type Row, type Session, type Statement } from "./drivers.ts";

/** `prepare` makes fresh tables before every sample; `run` may warm up before it calls `measured`. */
export interface Scenario {
  unit: string;
  prepare(admin: Session): Promise<void>;
  run(driver: DriverName, url: string, measured: Measure): Promise<void>;
}

/** Runs `work` under the clock; `work` answers with the number of units it did. */
export type Measure = (work: () => Promise<number>) => Promise<void>;

const claimSize = 100;
const warmUpClaims = 20;
const measuredClaims = 300;

const claimText = `
  WITH j AS MATERIALIZED (
    SELECT id FROM bench_command
    WHERE status = 'PENDING' AND domain = $1 AND priority = $2 AND ready_seq >= $3
    ORDER BY ready_seq LIMIT $4 FOR UPDATE SKIP LOCKED)
  UPDATE bench_command c
  SET status = 'IN_PROGRESS', attempts = attempts + 1, lease_token = $5, lease_until = now() + $6::interval
  FROM j WHERE c.id = j.id RETURNING c.*`;

const completeText = `
  WITH u AS (
    UPDATE bench_command c SET status = d.status FROM unnest($1::bigint[], $2::text[]) d(id, status)
    WHERE c.id = d.id AND c.status = 'IN_PROGRESS' AND c.lease_token = $3 RETURNING c.batch_id)
  SELECT batch_id, count(*) FROM u GROUP BY batch_id`;

async function prepareCommands(admin: Session): Promise<void> {
  const statements = [
    "DROP TABLE IF EXISTS bench_command",
    `CREATE TABLE bench_command (
       id bigint PRIMARY KEY, domain text NOT NULL, priority int NOT NULL, ready_seq bigint NOT NULL,
       status text NOT NULL, attempts int NOT NULL DEFAULT 0, lease_token uuid, lease_until timestamptz,
       batch_id bigint, data jsonb NOT NULL, created_at timestamptz NOT NULL DEFAULT now()) WITH (fillfactor = 70)`,
    `INSERT INTO bench_command (id, domain, priority, ready_seq, status, batch_id, data)
       SELECT i, 'bench', 0, i, 'PENDING', i / 1000, jsonb_build_object('n', i, 'text', repeat('x', 220))
       FROM generate_series(1, 100000) i`,
    `CREATE INDEX ON bench_command (domain, priority, ready_seq) WHERE status = 'PENDING'`,
    "VACUUM ANALYZE bench_command",
    "CHECKPOINT",
  ];
  for (const text of statements) await admin.query({ text });
}

async function claimAndComplete(
  session: Session,
  names: { claim?: string; complete?: string },
): Promise<number> {
  const token = randomUUID();
  const claim = { text: claimText, values: ["bench", 0, 0, claimSize, token, "30 seconds"] };
  const claimed = await session.query(names.claim ? { ...claim, name: names.claim } : claim);
  const ids = claimed.map((row: Row) => row.id);
  const complete = { text: completeText, values: [ids, ids.map(() => "COMPLETED"), token] };
  await session.query(names.complete ? { ...complete, name: names.complete } : complete);
  return claimed.length;
}

function claimScenario(options: { connections: number; named: boolean }): Scenario {
  const names = options.named ? { claim: "claim", complete: "complete" } : {};
  return {
    unit: "commands/s",
    prepare: prepareCommands,
    async run(driver, url, measured) {
      const sessions = await Promise.all(
        Array.from({ length: options.connections }, () => open(driver, url)),
      );
      const claims = async (session: Session, count: number) => {
        let done = 0;
        for (let i = 0; i < count; i += 1) done += await claimAndComplete(session, names);
        return done;
      };
      const spread = async (count: number) => {
        const done = await Promise.all(
          sessions.map((session) => claims(session, count / options.connections)),
        );
        return done.reduce((sum, each) => sum + each, 0);
      };
      await spread(warmUpClaims);
      await measured(() => spread(measuredClaims));
      await Promise.all(sessions.map((session) => session.close()));
    },
  };
}

/** Publishing to a topic: the lock must be a statement of its own before the INSERT, in one transaction. */
function publishStatements(key: number, named: boolean): Statement[] {
  const lock = { text: "SELECT id FROM bench_topic WHERE id = $1 FOR SHARE", values: [1] };
  const insert = {
    text: "INSERT INTO bench_message (topic, key, payload) VALUES ($1, $2, $3)",
    values: [1, `key-${key}`, "payload"],
  };
  return [
    { text: "BEGIN" },
    named ? { ...lock, name: "lock" } : lock,
    named ? { ...insert, name: "insert" } : insert,
    { text: "COMMIT" },
  ];
}

async function prepareTopic(admin: Session): Promise<void> {
  await admin.query({ text: "DROP TABLE IF EXISTS bench_message, bench_topic" });
  await admin.query({ text: "CREATE TABLE bench_topic (id int PRIMARY KEY)" });
  await admin.query({ text: "CREATE TABLE bench_message (topic int, key text PRIMARY KEY, payload text)" });
  await admin.query({ text: "INSERT INTO bench_topic VALUES (1)" });
}

async function sendPipelined(session: Session, statements: Statement[]): Promise<void> {
  for (const outcome of await session.sendAll(statements)) {
    if (outcome.status === "rejected") throw outcome.reason;
  }
}

async function sendOneByOne(session: Session, statements: Statement[]): Promise<void> {
  for (const statement of statements) await session.query(statement);
}

/** Spends one more round trip, so that COMMIT is only sent when every statement before it went well. */
async function sendCommitApart(session: Session, statements: Statement[]): Promise<void> {
  await sendPipelined(session, statements.slice(0, -1));
  await sendPipelined(session, statements.slice(-1));
}

const senders = {
  "one by one": sendOneByOne,
  pipelined: sendPipelined,
  "pipelined, COMMIT apart": sendCommitApart,
};

function publishScenario(
  sender: keyof typeof senders,
  options: { named: boolean; delayMs: number },
): Scenario {
  const send = senders[sender];
  const transactions = options.delayMs === 0 ? 1000 : 200;
  return {
    unit: "transactions/s",
    prepare: prepareTopic,
    async run(driver, url, measured) {
      await using proxy = await withDelay(url, options.delayMs);
      const session = await open(driver, proxy.url, { pipeline: send !== sendOneByOne });
      let key = 0;
      const publish = async (count: number) => {
        for (let i = 0; i < count; i += 1) {
          key += 1;
          await send(session, publishStatements(key, options.named));
        }
        return count;
      };
      await publish(transactions / 10);
      await measured(() => publish(transactions));
      await session.close();
    },
  };
}

async function prepareSink(admin: Session, withKey: boolean): Promise<void> {
  await admin.query({ text: "DROP TABLE IF EXISTS bench_cell, bench_ledger" });
  const key = withKey ? ", PRIMARY KEY (tick, x, y)" : "";
  await admin.query({
    text: `CREATE TABLE bench_cell
      (tick bigint, x int, y int, organism bigint, energy int, age int, kind text${key})`,
  });
  await admin.query({ text: "CREATE TABLE bench_ledger (id int PRIMARY KEY, state text)" });
  await admin.query({ text: "INSERT INTO bench_ledger VALUES (1, 'CLAIMED')" });
  await admin.query({ text: "CHECKPOINT" });
}

function copyScenario(options: { withKey: boolean }): Scenario {
  return {
    unit: "rows/s",
    prepare: (admin) => prepareSink(admin, options.withKey),
    async run(driver, url, measured) {
      const chunks = binaryCopyChunks();
      const session = await open(driver, url);
      await measured(async () => {
        await session.query({ text: "BEGIN" });
        await session.query({
          text: "UPDATE bench_ledger SET state = $1 WHERE id = $2",
          values: ["DONE", 1],
        });
        await session.copyIn("COPY bench_cell FROM STDIN (FORMAT binary)", chunks);
        await session.query({ text: "COMMIT" });
        return copyRows;
      });
      const [row] = await session.query({ text: "SELECT count(*)::int AS count FROM bench_cell" });
      if (row?.count !== copyRows) throw new Error(`COPY stored ${row?.count} rows, not ${copyRows}`);
      await session.close();
    },
  };
}

const parseRows = 100_000;
const parseRounds = 5;

const parseScenario: Scenario = {
  unit: "rows/s",
  async prepare(admin) {
    await admin.query({ text: "DROP TABLE IF EXISTS bench_result" });
    await admin.query({
      text: `CREATE TABLE bench_result AS
        SELECT i::bigint AS id, 'command-' || i AS name, jsonb_build_object('n', i, 'text', repeat('x', 100)) AS data,
          now() + i * interval '1 second' AS created_at FROM generate_series(1, ${parseRows}) i`,
    });
    await admin.query({ text: "VACUUM ANALYZE bench_result" });
  },
  async run(driver, url, measured) {
    const session = await open(driver, url);
    const select = async () =>
      (await session.query({ text: "SELECT * FROM bench_result WHERE id > $1", values: [0] })).length;
    await select();
    await measured(async () => {
      let rows = 0;
      for (let i = 0; i < parseRounds; i += 1) rows += await select();
      return rows;
    });
    await session.close();
  },
};

export const scenarios: Record<string, Scenario> = {
  "claim 100 + complete, 1 connection, unnamed": claimScenario({ connections: 1, named: false }),
  "claim 100 + complete, 1 connection, named": claimScenario({ connections: 1, named: true }),
  "claim 100 + complete, 4 connections, unnamed": claimScenario({ connections: 4, named: false }),
  "claim 100 + complete, 4 connections, named": claimScenario({ connections: 4, named: true }),
  "publish one by one, unnamed": publishScenario("one by one", { named: false, delayMs: 0 }),
  "publish pipelined, COMMIT apart, unnamed": publishScenario("pipelined, COMMIT apart", {
    named: false,
    delayMs: 0,
  }),
  "publish pipelined, unnamed": publishScenario("pipelined", { named: false, delayMs: 0 }),
  "publish pipelined, named": publishScenario("pipelined", { named: true, delayMs: 0 }),
  "publish one by one, unnamed, about 2 ms round trip": publishScenario("one by one", {
    named: false,
    delayMs: 1,
  }),
  "publish pipelined, COMMIT apart, unnamed, about 2 ms round trip": publishScenario(
    "pipelined, COMMIT apart",
    { named: false, delayMs: 1 },
  ),
  "publish pipelined, unnamed, about 2 ms round trip": publishScenario("pipelined", {
    named: false,
    delayMs: 1,
  }),
  "publish pipelined, named, about 2 ms round trip": publishScenario("pipelined", {
    named: true,
    delayMs: 1,
  }),
  "binary COPY of 1M rows + UPDATE, no key": copyScenario({ withKey: false }),
  "binary COPY of 1M rows + UPDATE, primary key": copyScenario({ withKey: true }),
  "SELECT of 100k rows (int8, text, jsonb, timestamptz)": parseScenario,
};
