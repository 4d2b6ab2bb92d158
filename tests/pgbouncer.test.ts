import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { TickDataSchema } from "../src/contracts/index.ts";
import { ensureRunSchema, migrate, pipelined } from "../src/database/index.ts";
import { mergeEnvironmentData } from "../src/pipeline/index.ts";
import { deferred } from "../src/runtime/index.ts";
import { setup } from "../src/testing/index.ts";
import { hasPgBouncer, PgBouncer } from "./helpers/pgbouncer.ts";

describe.skipIf(!hasPgBouncer)("through PgBouncer in transaction mode (needs Debian's pgbouncer)", () => {
  it("migrates, makes run schemas, pipelines, copies and keeps transactions apart", async () => {
    await using t = await setup({ empty: true });
    const bouncer = t.use(await PgBouncer.start(t.url, await t.temporaryFolder()));
    const database = await t.connect({ url: bouncer.url, listenUrl: t.url, schema: "crew" });
    await migrate(database);
    await ensureRunSchema(database, "run-1");
    await database.query("CREATE TABLE tallyman.hits (worker int, n int)");
    const worker = async (id: number) => {
      for (let n = 0; n < 20; n++) {
        await database.transaction(async (tx) => {
          await pipelined(
            tx.query("INSERT INTO tallyman.hits VALUES ($1, $2)", [id, n]),
            tx.query("SELECT count(*) FROM tallyman.hits WHERE worker = $1", [id]),
          );
          await tx.copyIn("COPY tallyman.hits FROM STDIN", [Buffer.from(`${id}\t${n + 100}\n`)]);
        });
      }
    };
    await Promise.all(Array.from({ length: 8 }, (_, id) => worker(id)));
    const { rows } = await database.query(
      "SELECT count(*) AS all, count(DISTINCT (worker, n)) AS distinct FROM tallyman.hits",
    );
    expect(rows).toEqual([{ all: 320, distinct: 320 }]);
  });

  it("merges ticks through temporary tables that no other transaction meets", async () => {
    await using t = await setup();
    const bouncer = t.use(await PgBouncer.start(t.url, await t.temporaryFolder()));
    const database = await t.connect({ url: bouncer.url, listenUrl: t.url });
    const run = database.forRun(await ensureRunSchema(database, "run-1"));
    const ticks = Array.from({ length: 20 }, (_, tick) =>
      create(TickDataSchema, { tickNumber: BigInt(tick), cells: [{ cellId: 1 }, { cellId: 2 }] }),
    );
    const merging = Array.from({ length: 8 }, () => run.transaction((tx) => mergeEnvironmentData(tx, ticks)));
    const added = await Promise.all(merging);
    expect(added.reduce((sum, rows) => sum + rows)).toBe(40);
    const { rows } = await run.query("SELECT count(*) AS rows FROM sim.environment_data");
    expect(rows).toEqual([{ rows: 40 }]);
  });

  it("hears hints on its direct connection", async () => {
    await using t = await setup();
    const bouncer = t.use(await PgBouncer.start(t.url, await t.temporaryFolder()));
    const database = await t.connect({ url: bouncer.url, listenUrl: t.url });
    const connected = deferred<void>();
    const heard = deferred<void>();
    database.listener.subscribe("work", (payload) => (payload === "" ? connected : heard).resolve());
    await connected.promise;
    await database.query("SELECT pg_notify('work', 'now')");
    await heard.promise;
  });
});
