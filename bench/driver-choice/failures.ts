import pg from "pg";
import { from as copyFrom } from "pg-copy-streams";
import {
  type DriverName,
  loadPostgres,
  open,
  type PostgresReserved,
  type Session,
  type Statement,
} from "./drivers.ts";

/** Each probe prints what it saw; the caller runs it in a process of its own and reports crashes and hangs. */
export type Probe = (url: string) => Promise<void>;

const say = (text: string) => console.log(`  ${text}`);

function outcomeText(outcome: PromiseSettledResult<unknown>): string {
  if (outcome.status === "rejected") return outcome.reason.code ?? outcome.reason.message.split("\n")[0];
  return `ok ${(outcome.value as { command?: string } | undefined)?.command ?? ""}`.trim();
}

function settle(promise: Promise<unknown>): Promise<string> {
  return Promise.allSettled([promise]).then(([outcome]) => outcomeText(outcome));
}

async function prepareTable(session: Session): Promise<void> {
  await session.query({ text: "DROP TABLE IF EXISTS bench_probe" });
  await session.query({ text: "CREATE TABLE bench_probe (id int PRIMARY KEY, data jsonb)" });
}

async function rowCount(session: Session): Promise<unknown> {
  return (await session.query({ text: "SELECT count(*)::int AS count FROM bench_probe" }))[0]?.count;
}

const insert = (id: unknown, data: unknown = {}): Statement => ({
  text: "INSERT INTO bench_probe VALUES ($1, $2)",
  values: [id, data],
});

/** BEGIN, one good INSERT, the bad statement, another INSERT, COMMIT: all sent before the first answer. */
function pipelinedFailure(driver: DriverName, bad: () => Statement): Probe {
  return async (url) => {
    const session = await open(driver, url, { pipeline: true });
    await prepareTable(session);
    const statements = [{ text: "BEGIN" }, insert(1), bad(), insert(3), { text: "COMMIT" }];
    say((await session.sendAll(statements)).map(outcomeText).join(", "));
    say(`rows afterwards: ${await rowCount(session)}`);
    await session.close();
  };
}

const serverError = (): Statement => ({ text: "SELECT 1 / $1::int", values: [0] });

function unserialisable(): Statement {
  const circular: Record<string, unknown> = {};
  circular.self = circular;
  return insert(2, circular);
}

function killedMidPipeline(driver: DriverName): Probe {
  return async (url) => {
    const session = await open(driver, url, { pipeline: true });
    await prepareTable(session);
    const kill = { text: "SELECT pg_terminate_backend(pg_backend_pid()), pg_sleep(5)" };
    say(
      (await session.sendAll([{ text: "BEGIN" }, insert(1), kill, insert(3), { text: "COMMIT" }]))
        .map(outcomeText)
        .join(", "),
    );
    say(`next statement on the same session: ${await settle(session.query({ text: "SELECT 1" }))}`);
    say(`and the one after: ${await settle(session.query({ text: "SELECT 1" }))}`);
    say(`close: ${await settle(session.close())}`);
  };
}

function badCopy(driver: DriverName): Probe {
  return async (url) => {
    const session = await open(driver, url);
    await prepareTable(session);
    await session.query({ text: "BEGIN" });
    say(
      `COPY of a malformed row: ${await settle(session.copyIn("COPY bench_probe FROM STDIN", [Buffer.from("x\t{}\n")]))}`,
    );
    say(`ROLLBACK: ${await settle(session.query({ text: "ROLLBACK" }))}`);
    say(`rows afterwards: ${await rowCount(session)}`);
    await session.close();
  };
}

async function terminateFrom(url: string, pid: unknown): Promise<void> {
  const admin = await open("pg", url);
  await admin.query({ text: "SELECT pg_terminate_backend($1, 5000)", values: [pid] });
  await admin.close();
}

function pgPoolDeath(options: { idle: boolean; poolListener: boolean; clientListener: boolean }): Probe {
  return async (url) => {
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    if (options.poolListener) pool.on("error", (error) => say(`pool 'error' event: ${error.message}`));
    const client = await pool.connect();
    const { rows } = await client.query("SELECT pg_backend_pid() AS pid");
    if (options.clientListener) client.on("error", (error) => say(`client 'error' event: ${error.message}`));
    if (options.idle) client.release();
    const running = options.idle ? undefined : settle(client.query("SELECT pg_sleep(30)"));
    await terminateFrom(url, rows[0].pid);
    if (running) say(`running statement: ${await running}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
    if (!options.idle) client.release(true);
    say(`next pool.query: ${await settle(pool.query("SELECT 1"))}`);
    await pool.end();
  };
}

async function pgPoolPipeline(url: string): Promise<void> {
  const pool = new pg.Pool({ connectionString: url, max: 1, pipeline: true });
  const client = await pool.connect();
  const texts = ["BEGIN", "SELECT pg_sleep(0.01)", "COMMIT"];
  const outcomes = await Promise.allSettled(texts.map((text) => client.query(text)));
  say(`pipelined on a pool's client: ${outcomes.map(outcomeText).join(", ")}`);
  client.release();
  say(`pool.query after release: ${await settle(pool.query("SELECT 1"))}`);
  const early = await pool.connect();
  const unsettled = settle(early.query("SELECT pg_sleep(0.2)"));
  early.release();
  const next = await pool.connect();
  say(
    `client released with a statement in flight is handed out again: ${next === early}; it: ${await unsettled}`,
  );
  next.release();
  await pool.end();
}

async function pgPipelineCopy(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, pipeline: true });
  await client.connect();
  await client.query("CREATE TEMP TABLE bench_copy (id int)");
  const copy = () =>
    new Promise<void>((resolve, reject) => {
      const stream = client.query(copyFrom("COPY bench_copy FROM STDIN"));
      stream.once("error", reject).once("finish", resolve);
      stream.end("1\n");
    });
  say(`COPY with pipeline on: ${await settle(copy())}`);
  say(`statement afterwards: ${await settle(client.query("SELECT 1"))}`);
  Object.assign(client, { pipeline: false });
  say(`COPY after client.pipeline = false while idle: ${await settle(copy())}`);
  Object.assign(client, { pipeline: true });
  say(
    `pipelined again: ${(await Promise.all([1, 2].map(() => settle(client.query("SELECT 1"))))).join(", ")}`,
  );
  await client.end();
}

async function pgPipelineTimeout(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, pipeline: true, query_timeout: 200 });
  client.on("error", (error) => say(`client 'error' event: ${error.message}`));
  await client.connect();
  const outcomes = ["SELECT pg_sleep(1)", "SELECT 1"].map((text) => settle(client.query(text)));
  say((await Promise.all(outcomes)).join(", "));
  say(`next statement: ${await settle(client.query("SELECT 1"))}`);
  await client.end();
}

/** The backend dies inside sql.begin() while another caller waits for the pool's only connection. */
async function postgresBeginLost(url: string): Promise<void> {
  const admin = await open("pg", url);
  await prepareTable(admin);
  const postgres = await loadPostgres();
  const sql = postgres(url, { max: 1 });
  let callback: Promise<string> | undefined;
  const lost = async (tx: PostgresReserved) => {
    const [row] = await tx.unsafe("SELECT pg_backend_pid() AS pid");
    const waiting = settle(sql.unsafe("SELECT 1"));
    await terminateFrom(url, row?.pid);
    say(`the other caller: ${await waiting}`);
    await tx.unsafe("INSERT INTO bench_probe VALUES (1)");
  };
  const transaction = sql.begin((tx) => {
    const work = lost(tx);
    callback = settle(work);
    return work;
  });
  say(`begin: ${await settle(transaction)}`);
  say(`INSERT on the lost transaction: ${await callback}`);
  say(`rows afterwards: ${await rowCount(admin)}`);
  await admin.close();
}

async function postgresEndAfterLoss(url: string): Promise<void> {
  const postgres = await loadPostgres();
  const sql = postgres(url, { max: 1 });
  say(`killed: ${await settle(sql.unsafe("SELECT pg_terminate_backend(pg_backend_pid()), pg_sleep(5)"))}`);
  say(`next statement: ${await settle(sql.unsafe("SELECT 1"))}`);
  say(`end: ${await settle(sql.end())}`);
}

export const probes: Record<string, Probe> = {
  "pg: the middle pipelined statement fails on the server": pipelinedFailure("pg", serverError),
  "postgres: the middle pipelined statement fails on the server": pipelinedFailure("postgres", serverError),
  "pg: the middle pipelined statement fails in the client": pipelinedFailure("pg", unserialisable),
  "postgres: the middle pipelined statement fails in the client": pipelinedFailure(
    "postgres",
    unserialisable,
  ),
  "pg: backend killed amid a pipeline": killedMidPipeline("pg"),
  "postgres: backend killed amid a pipeline": killedMidPipeline("postgres"),
  "pg: failed COPY in a transaction": badCopy("pg"),
  "postgres: failed COPY in a transaction": badCopy("postgres"),
  "pg: Pool with pipeline": pgPoolPipeline,
  "pg: COPY on a pipelining client": pgPipelineCopy,
  "pg: query_timeout on a pipelining client": pgPipelineTimeout,
  "pg: idle pooled client dies, no listener": pgPoolDeath({
    idle: true,
    poolListener: false,
    clientListener: false,
  }),
  "pg: idle pooled client dies, pool listener": pgPoolDeath({
    idle: true,
    poolListener: true,
    clientListener: false,
  }),
  "pg: checked-out client dies, pool listener only": pgPoolDeath({
    idle: false,
    poolListener: true,
    clientListener: false,
  }),
  "pg: checked-out client dies, client listener": pgPoolDeath({
    idle: false,
    poolListener: true,
    clientListener: true,
  }),
  "postgres: begin() whose connection is lost": postgresBeginLost,
  "postgres: end() after a lost connection": postgresEndAfterLoss,
};
