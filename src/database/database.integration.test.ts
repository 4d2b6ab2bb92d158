import { Socket } from "node:net";
import pg from "pg";
import { describe, expect, it, vi } from "vitest";
import { TcpProxy } from "../../tests/helpers/tcp-proxy.ts";
import { deferred } from "../runtime/index.ts";
import { setup } from "../testing/index.ts";
import { Database, pipelined, retryClassOf, type Transaction } from "./index.ts";

describe("Database", () => {
  it("opens connections when needed and serves a hundred callers with a few", async () => {
    await using t = await setup();
    const database = await t.connect({ poolMax: 3 });
    await Promise.all(Array.from({ length: 100 }, () => database.query("SELECT pg_sleep(0.001)")));
    expect(database.stats).toMatchObject({ max: 3, active: 0, waiting: 0 });
    expect(database.stats.total).toBeLessThanOrEqual(3);
  });

  it("asks the system to probe every connection soon, so that a server that vanished is noticed", async () => {
    await using t = await setup();
    using setKeepAlive = vi.spyOn(Socket.prototype, "setKeepAlive");
    const database = await t.connect();
    await database.query("SELECT 1");
    database.listener.subscribe("anything", () => undefined);
    await expect.poll(() => database.listener.isConnected).toBe(true);
    const delays = setKeepAlive.mock.calls.map(([isOn, delayMs]) => isOn && delayMs);
    expect(delays.length).toBeGreaterThanOrEqual(2);
    expect(new Set(delays)).toEqual(new Set([10_000]));
  });

  it("reads int8 as a number and refuses one that a number can't hold", async () => {
    await using t = await setup();
    const { rows } = await t.database.query("SELECT 9007199254740991::int8 AS tick");
    expect(rows).toEqual([{ tick: 9007199254740991 }]);
    await expect(t.database.query("SELECT 9007199254740993::int8")).rejects.toThrow(/beyond 2\^53/);
    await expect(t.database.query("SELECT 1 AS still_alive")).resolves.toBeDefined();
  });

  it("commits what the work wrote, and rolls all of it back on an error", async () => {
    await using t = await setup();
    await t.database.query("CREATE TABLE effect (id int)");
    await t.database.transaction((tx) => tx.query("INSERT INTO effect VALUES (1)"));
    const failing = t.database.transaction(async (tx) => {
      await tx.query("INSERT INTO effect VALUES (2)");
      throw new Error("changed my mind");
    });
    await expect(failing).rejects.toThrow("changed my mind");
    const { rows } = await t.database.query("SELECT id FROM effect");
    expect(rows).toEqual([{ id: 1 }]);
  });

  it("does not pass off a rolled-back transaction as committed when the work swallows an error", async () => {
    await using t = await setup();
    const swallowing = t.database.transaction(async (tx) => {
      await tx.query("SELECT 1 / 0").catch(() => undefined);
    });
    await expect(swallowing).rejects.toMatchObject({ code: "DATABASE_ERROR" });
  });

  it("sends statements of one transaction without waiting for each, in order", async () => {
    await using t = await setup();
    const results = await t.database.transaction(async (tx) => {
      const [, , last] = await pipelined(
        tx.query("CREATE TABLE sent (id int)"),
        tx.query("INSERT INTO sent SELECT generate_series(1, 3)"),
        tx.query<{ n: number }>("SELECT count(*) AS n FROM sent"),
      );
      return last.rows;
    });
    expect(results).toEqual([{ n: 3 }]);
    const failing = t.database.transaction((tx) =>
      pipelined(tx.query("SELECT 1 / 0"), tx.query("INSERT INTO sent VALUES (4)")),
    );
    await expect(failing).rejects.toMatchObject({ code: "22012" });
  });

  it("runs the work again after a deadlock", async () => {
    await using t = await setup();
    await t.database.query("CREATE TABLE pair (id int PRIMARY KEY, hits int DEFAULT 0)");
    await t.database.query("INSERT INTO pair VALUES (1), (2)");
    const bothLocked = [deferred<void>(), deferred<void>()];
    const touch = (tx: Transaction, id: number) =>
      tx.query("UPDATE pair SET hits = hits + 1 WHERE id = $1", [id]);
    let runs = 0;
    const cross = (mine: number, other: number) =>
      t.database.transaction(async (tx) => {
        runs++;
        await touch(tx, mine);
        bothLocked[mine - 1]?.resolve();
        await bothLocked[other - 1]?.promise;
        await touch(tx, other);
      });
    await Promise.all([cross(1, 2), cross(2, 1)]);
    expect(runs).toBeGreaterThan(2);
    const { rows } = await t.database.query("SELECT id, hits FROM pair ORDER BY id");
    expect(rows).toEqual([
      { id: 1, hits: 2 },
      { id: 2, hits: 2 },
    ]);
  });

  it("runs the work again when its connection is lost before COMMIT", async () => {
    await using t = await setup();
    await t.database.query("CREATE TABLE effect (id int)");
    let runs = 0;
    await t.database.transaction(async (tx) => {
      await tx.query("INSERT INTO effect VALUES (1)");
      if (++runs === 1) await tx.query("SELECT pg_terminate_backend(pg_backend_pid())");
    });
    expect(runs).toBe(2);
    const { rows } = await t.database.query("SELECT count(*) AS n FROM effect");
    expect(rows).toEqual([{ n: 1 }]);
  });

  it("survives the loss of idle and of checked-out connections", async () => {
    await using t = await setup();
    const other = await t.connect();
    await other.query("SELECT 1");
    const inTransaction = t.database.transaction(async (tx) => {
      await tx.query("SELECT 1");
      await other.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
      );
      await tx.query("SELECT 2");
      return "done";
    });
    await expect(inTransaction).rejects.toSatisfy((error) => retryClassOf(error) === "connection-lost");
    await expect(t.database.query("SELECT 1 AS n")).resolves.toMatchObject({ rows: [{ n: 1 }] });
  });

  it("writes inside a caller's own transaction and refuses a pool in its place", async () => {
    await using t = await setup();
    const client = new pg.Client(t.url);
    await client.connect();
    await client.query("BEGIN");
    await t.database.join(client).query("CREATE TABLE tallyman.mine (id int)");
    await client.query("ROLLBACK");
    await client.end();
    const { rows } = await t.database.query("SELECT to_regclass('tallyman.mine') AS found");
    expect(rows).toEqual([{ found: null }]);
    const pool = new pg.Pool({ connectionString: t.url });
    expect(() => t.database.join(pool)).toThrow(expect.objectContaining({ code: "INVALID_OPTION" }));
    await pool.end();
  });

  it("refuses what would not share a transaction: a database, a run's database, a client without BEGIN", async () => {
    await using t = await setup();
    const idle = new pg.Client(t.url);
    await idle.connect();
    for (const client of [t.database, t.database.forRun("sim_x"), idle]) {
      expect(() => t.database.join(client as never)).toThrow(
        expect.objectContaining({ code: "INVALID_OPTION" }),
      );
    }
    await idle.end();
  });

  it("lets nothing be written with a transaction that has ended", async () => {
    await using t = await setup();
    await t.database.query("CREATE TABLE effect (name text)");
    const mayGoOn = deferred<void>();
    let straggler: Promise<unknown> = Promise.resolve();
    const failing = t.database.transaction((tx) => {
      straggler = mayGoOn.promise.then(() => tx.query("INSERT INTO effect VALUES ('ghost')"));
      straggler.catch(() => undefined);
      return Promise.all([tx.query("SELECT 1 / 0"), straggler]);
    });
    await expect(failing).rejects.toMatchObject({ code: "22012" });
    mayGoOn.resolve();
    await expect(straggler).rejects.toMatchObject({ code: "INVALID_STATE" });
    const { rows } = await t.database.query("SELECT name FROM effect");
    expect(rows).toEqual([]);
  });

  it("does not run the work again for a refused connection of the work's own", async () => {
    await using t = await setup();
    let runs = 0;
    const failing = t.database.transaction(async () => {
      runs++;
      throw Object.assign(new Error("their server is down"), { code: "ECONNREFUSED" });
    });
    await expect(failing).rejects.toThrow("their server is down");
    expect(runs).toBe(1);
  });

  it("says that nobody knows when the connection breaks during COMMIT, and does not do it twice", async () => {
    await using t = await setup();
    await t.database.query("CREATE TABLE effect (id int)");
    const { proxy, url } = await TcpProxy.start(t.url);
    t.use(proxy);
    const database = await t.connect({ url, listenUrl: null });
    await database.query("SELECT 1");
    proxy.cutAfter("COMMIT");
    const unknown = database.transaction((tx) => tx.query("INSERT INTO effect VALUES (1)"));
    await expect(unknown).rejects.toMatchObject({ code: "COMMIT_UNKNOWN" });
    const { rows } = await t.database.query("SELECT count(*) AS n FROM effect");
    expect(rows).toEqual([{ n: 1 }]);
  });

  it("tells callers that wait for a connection, or come later, that it was closed", async () => {
    await using t = await setup();
    const database = await t.connect({ poolMax: 1 });
    const started = deferred<void>();
    const finish = deferred<void>();
    const holder = database.transaction(async () => {
      started.resolve();
      await finish.promise;
    });
    await started.promise;
    const waiting = database.query("SELECT 1");
    const closing = database.close();
    await expect(waiting).rejects.toMatchObject({ code: "INVALID_STATE" });
    finish.resolve();
    await Promise.all([holder, closing]);
    await expect(database.query("SELECT 1")).rejects.toMatchObject({ code: "INVALID_STATE" });
  });

  it("refuses unknown and impossible options by name", async () => {
    await using t = await setup();
    const misspelt = { url: t.url, poolmax: 3 } as never;
    await expect(Database.connect(misspelt)).rejects.toThrow(
      /Unknown option 'poolmax'. Did you mean 'poolMax'\?/,
    );
    await expect(Database.connect({ url: t.url, poolMax: -1 })).rejects.toMatchObject({
      code: "INVALID_OPTION",
    });
  });

  it("copies rows in and goes on with the same transaction", async () => {
    await using t = await setup();
    await t.database.query("CREATE TABLE copied (id int8, name text)");
    const lines = Array.from({ length: 1000 }, (_, i) => Buffer.from(`${i}\tname ${i}\n`));
    const counted = await t.database.transaction(async (tx) => {
      const copied = await tx.copyIn("COPY copied FROM STDIN", lines);
      const { rows } = await tx.query<{ n: number }>("SELECT count(*) AS n FROM copied");
      return [copied, rows[0]?.n];
    });
    expect(counted).toEqual([1000, 1000]);
    const bad = t.database.transaction((tx) =>
      tx.copyIn("COPY copied FROM STDIN", [Buffer.from("not a number\tx\n")]),
    );
    await expect(bad).rejects.toMatchObject({ code: "22P02" });
    const { rows } = await t.database.query("SELECT count(*) AS n FROM copied");
    expect(rows).toEqual([{ n: 1000 }]);
  });

  it("says that the pool is exhausted, with its numbers", async () => {
    await using t = await setup();
    const database = await t.connect({ poolMax: 1, acquireTimeoutMs: 3_000 });
    const started = deferred<void>();
    const finish = deferred<void>();
    const holder = database.transaction(async () => {
      started.resolve();
      await finish.promise;
    });
    await started.promise;
    await expect(database.query("SELECT 1")).rejects.toMatchObject({
      code: "DATABASE_POOL_EXHAUSTED",
      details: { active: 1, max: 1 },
    });
    finish.resolve();
    await holder;
  });

  it("puts its tables in the configured schema", async () => {
    await using t = await setup({ empty: true });
    const database = await t.connect({ schema: "crew" });
    await database.query("CREATE SCHEMA crew");
    await database.query("CREATE TABLE tallyman.thing (id int)");
    const { rows } = await database.query("SELECT 'crew.thing'::regclass::text AS name");
    expect(rows).toEqual([{ name: "crew.thing" }]);
    await expect(t.connect({ schema: "Robert'); --" })).rejects.toMatchObject({ code: "INVALID_OPTION" });
  });
});

describe("connection errors", () => {
  it.each([
    ["nonsense", "DATABASE_URL_INVALID"],
    ["mysql://root:secret@localhost/x", "DATABASE_URL_INVALID"],
    ["postgres://someone:secret@127.0.0.1:1/x", "DATABASE_UNREACHABLE"],
    ["postgres://someone:secret@host.invalid/x", "DATABASE_UNREACHABLE"],
  ])("%s → %s, without the password", async (url, code) => {
    const error = await Database.connect({ url }).catch((e) => e);
    expect(error).toMatchObject({ code });
    expect(JSON.stringify([error.message, error.details])).not.toContain("secret");
  });

  it("tells a wrong password and a missing database from an unreachable server", async () => {
    await using t = await setup();
    const wrongPassword = t.url.replace(/:[^:@]+@/, ":wrong@");
    await expect(Database.connect({ url: wrongPassword })).rejects.toMatchObject({
      code: "DATABASE_LOGIN_FAILED",
    });
    const wrongName = t.url.replace(/\/[^/]+$/, "/no_such_database");
    await expect(Database.connect({ url: wrongName })).rejects.toMatchObject({
      code: "DATABASE_LOGIN_FAILED",
    });
  });
});
