import { once } from "node:events";
import { createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { deferred } from "../runtime/index.ts";
import { setup } from "../testing/index.ts";
import { Listener } from "./index.ts";

describe("Listener", () => {
  it("passes hints on to the subscribers of their channel, until they unsubscribe", async () => {
    await using t = await setup();
    const got = [deferred<string>(), deferred<string>()];
    const payloads: string[] = [];
    const unsubscribe = t.database.listener.subscribe("work", (payload) => {
      payloads.push(payload);
      got[payload === "" ? 0 : 1]?.resolve(payload);
    });
    await got[0]?.promise; // connected
    await t.database.query("SELECT pg_notify('other', 'x'), pg_notify('work', 'now')");
    await got[1]?.promise;
    expect(payloads).toEqual(["", "now"]);
    unsubscribe();
  });

  it("reconnects after a loss, listens to everything again and hints that something may be missed", async () => {
    await using t = await setup();
    let connections = 0;
    const signals = [deferred<void>(), deferred<void>(), deferred<void>()];
    t.database.listener.subscribe("work", (payload) =>
      signals[payload === "" ? connections++ : 2]?.resolve(),
    );
    await signals[0]?.promise;
    await t.database.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tallyman listen' AND datname = current_database()",
    );
    await signals[1]?.promise;
    expect(t.database.listener.isConnected).toBe(true);
    await t.database.query("SELECT pg_notify('work', 'after')");
    await signals[2]?.promise;
  });

  it("never connects without a direct URL: subscribers poll", async () => {
    await using t = await setup();
    const database = await t.connect({ listenUrl: null });
    database.listener.subscribe("work", () => undefined);
    expect(database.listener.isConnected).toBe(false);
    const { rows } = await t.database.query(
      "SELECT count(*) AS n FROM pg_stat_activity WHERE application_name = 'tallyman listen' AND datname = current_database()",
    );
    expect(rows).toEqual([{ n: 0 }]);
  });

  it("survives a subscriber that throws, and says so", async () => {
    await using t = await setup();
    t.logs.expectLog({
      logger: "database.listener",
      level: "error",
      message: "A subscriber failed on a hint",
    });
    const heard = deferred<void>();
    t.database.listener.subscribe("work", () => {
      throw new Error("bad subscriber");
    });
    t.database.listener.subscribe("work", () => heard.resolve());
    await heard.promise;
  });

  it("can be closed while a server accepts and stays silent", async () => {
    const silent = createServer().listen(0, "127.0.0.1");
    const connected = once(silent, "connection");
    await once(silent, "listening");
    const { port } = silent.address() as { port: number };
    const listener = new Listener(`postgres://nobody@127.0.0.1:${port}/x`);
    listener.subscribe("work", () => undefined);
    const [socket] = await connected;
    await listener.close();
    socket.destroy();
    silent.close();
    expect(listener.isConnected).toBe(false);
  });

  it("can be closed while it tries to connect", async () => {
    const listener = new Listener("postgres://nobody@127.0.0.1:1/x");
    listener.subscribe("work", () => undefined);
    await listener.close();
    expect(listener.isConnected).toBe(false);
  });
});
