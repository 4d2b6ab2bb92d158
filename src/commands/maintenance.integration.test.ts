import { describe, expect, it } from "vitest";
import { commands, openBus, startWorker, untilStatus } from "../../tests/kit/commands.ts";
import type { Transaction } from "../database/index.ts";
import { deferred } from "../runtime/index.ts";
import { setup, type TestContext } from "../testing/index.ts";
import { pruneBatch, pruneCommands } from "./sql/maintenance.ts";

const hourMs = 3_600_000;

/** Rows of a table that `work` read, on a connection of its own: the figures are those of its connection. */
async function rowsRead(t: TestContext, table: string, work: (tx: Transaction) => Promise<unknown>) {
  const database = await t.connect({ poolMax: 1, listenUrl: null });
  return database.transaction(async (tx) => {
    await work(tx);
    const { rows } = await tx.query<{ read: number }>(
      `SELECT (seq_tup_read + idx_tup_fetch)::int AS read FROM pg_stat_xact_user_tables
       WHERE relname = $1 AND schemaname = 'tallyman'`,
      [table],
    );
    return rows[0]?.read ?? 0;
  });
}

describe("retention", () => {
  it("looks at no more young commands than one step has", async () => {
    await using t = await setup();
    const bus = openBus(t);
    await bus.sendMany("d", commands(2_000));
    await t.database.query("UPDATE tallyman.command_bus_command SET finished_at = clock_timestamp()");
    await t.database.query("ANALYZE tallyman.command_bus_command");
    const step = { after: 0, limit: 100, olderThanMs: hourMs };
    const read = await rowsRead(t, "command_bus_command", async (tx) =>
      expect(await pruneCommands(tx, step)).toEqual({ deleted: 0, lastId: null }),
    );
    expect(read).toBeLessThanOrEqual(2 * step.limit);
  });

  it("goes on behind old commands that must stay, to the first young one", async () => {
    await using t = await setup();
    const bus = openBus(t);
    await bus.sendMany("d", commands(30));
    await t.database.query(
      `UPDATE tallyman.command_bus_command SET created_at = clock_timestamp() - interval '2 hours',
         finished_at = CASE WHEN id > 15 THEN clock_timestamp() - interval '2 hours' END WHERE id <= 25`,
    );
    const prune = (after: number) =>
      t.database.transaction((tx) => pruneCommands(tx, { after, limit: 10, olderThanMs: hourMs }));
    expect(await prune(0)).toEqual({ deleted: 0, lastId: 10 });
    expect(await prune(10)).toEqual({ deleted: 5, lastId: 20 });
    expect(await prune(20)).toEqual({ deleted: 5, lastId: null });
  });

  it("looks at no young batches", async () => {
    await using t = await setup();
    await t.database.query(
      `INSERT INTO tallyman.command_bus_batch (batch_id, domain, status, completed_at)
       SELECT gen_random_uuid(), 'd', 'COMPLETED', clock_timestamp() FROM generate_series(1, 2000)`,
    );
    await t.database.query("ANALYZE tallyman.command_bus_batch");
    const read = await rowsRead(t, "command_bus_batch", async (tx) =>
      expect(await pruneBatch(tx, { limit: 100, olderThanMs: hourMs })).toBeUndefined(),
    );
    expect(read).toBeLessThanOrEqual(10);
  });

  it("ends with its signal", async () => {
    await using t = await setup();
    const bus = openBus(t);
    await bus.sendMany("d", commands(10));
    await t.database.query(
      `UPDATE tallyman.command_bus_command SET status = 'COMPLETED', created_at = clock_timestamp() - interval '2 hours',
         finished_at = clock_timestamp() - interval '2 hours'`,
    );
    await t.database.query(
      "UPDATE tallyman.command_bus_audit_group SET created_at = clock_timestamp() - interval '2 hours'",
    );
    const retention = { finishedMs: hourMs, auditMs: hourMs };
    expect(await bus.maintenance.prune(retention, AbortSignal.abort())).toEqual({ commands: 0, audit: 0 });
    expect(await bus.prune(retention)).toEqual({ commands: 10, audit: 10 });
  });
});

describe("a worker's maintenance", () => {
  it("holds up no claims", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const batchId = await bus.createBatch("other", commands(1), { expiresAt: new Date(Date.now() - 1_000) });
    const free = deferred();
    const locked = deferred();
    const holder = t.database.transaction(async (tx) => {
      await tx.query("SELECT FROM tallyman.command_bus_queue WHERE batch_id = $1 FOR UPDATE", [batchId]);
      locked.resolve();
      await free.promise;
    });
    await locked.promise;
    await startWorker(t, bus, { T: () => 1 });
    const isWaiting = async () => {
      const { rows } = await t.database.query(
        "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%command_bus_cancel%' AND datname = current_database()",
      );
      return rows.length > 0;
    };
    await expect.poll(isWaiting, { timeout: 20_000 }).toBe(true);
    await untilStatus(bus, await bus.send("d", "T", { data: {} }), "COMPLETED");
    free.resolve();
    await holder;
    expect(await bus.waitForBatch("other", batchId)).toMatchObject({ canceledCount: 1 });
  });

  it("tells once that it fails, and goes on", async () => {
    await using t = await setup();
    const bus = openBus(t);
    t.logs.expectLog({
      logger: "commands.maintenance",
      level: "warn",
      message: "Commands could not be maintained, trying again: *broken",
    });
    const { runOnce } = bus.maintenance;
    let failures = 0;
    bus.maintenance.runOnce = async (...given) => {
      if (++failures <= 3) throw new Error("broken");
      return runOnce.apply(bus.maintenance, given);
    };
    const worker = await startWorker(t, bus, { T: () => 1 }, { maintenanceIntervalMs: 10 });
    await expect.poll(() => failures, { timeout: 20_000 }).toBeGreaterThan(4);
    expect(worker.getErrors().map(({ code }) => code)).toContain("COMMAND_MAINTENANCE_FAILED");
  });
});
