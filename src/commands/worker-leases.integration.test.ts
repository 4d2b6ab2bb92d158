import { describe, expect, it } from "vitest";
import {
  commands,
  events,
  openBus,
  startWorker,
  untilFinished,
  untilStatus,
} from "../../tests/kit/commands.ts";
import { deferred, sleep, systemClock } from "../runtime/index.ts";
import { FakeClock, setup } from "../testing/index.ts";
import type { CommandContext } from "./index.ts";

const expireLeases =
  "UPDATE tallyman.command_bus_lease SET lease_until = clock_timestamp() - interval '1 second'";

describe("what a worker holds", () => {
  it("finishes what runs and gives back the rest at once when it stops", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const started = deferred();
    const finish = deferred();
    await bus.sendMany("d", commands(50));
    const worker = await startWorker(
      t,
      bus,
      {
        T: async () => {
          started.resolve();
          await finish.promise;
        },
      },
      { concurrency: 2, prefetch: 40 },
    );
    await started.promise;
    const stopped = worker.stop();
    finish.resolve();
    await stopped;
    const { rows } = await t.database.query(
      `SELECT status, attempts, lost_leases, count(*)::int AS n FROM tallyman.command_bus_command GROUP BY 1, 2, 3 ORDER BY 1`,
    );
    expect(rows).toEqual([
      { status: "COMPLETED", attempts: 1, lost_leases: 0, n: 2 },
      { status: "PENDING", attempts: 0, lost_leases: 0, n: 48 },
    ]);
    expect(await bus.stats()).toMatchObject({ ready: 48, inProgress: 0 });
    const { rows: leases } = await t.database.query("SELECT FROM tallyman.command_bus_lease");
    expect(leases).toEqual([]);
  });

  it("aborts handlers that outlast the drain, and still ends", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const started = deferred();
    const worker = await startWorker(
      t,
      bus,
      {
        T: async (_command, { signal }) => {
          started.resolve();
          await sleep(60_000, signal);
        },
      },
      { drainMs: 30 },
    );
    const commandId = await bus.send("d", "T", { data: {} });
    await started.promise;
    await worker.stop();
    expect(await bus.getCommand("d", commandId)).toMatchObject({ status: "PENDING", attempts: 1 });
  });

  it("comes back when its handler ended after the stop, and says so", async () => {
    await using t = await setup();
    t.logs.expectLog({ logger: "commands.worker", level: "warn", message: "1 handlers did not end; *" });
    t.logs.expectLog({
      logger: "commands.worker",
      level: "error",
      message: "The outcome of command * was not stored; it comes back after its lease: *",
    });
    const bus = openBus(t);
    const started = deferred();
    const finish = deferred();
    const worker = await startWorker(
      t,
      bus,
      {
        T: async () => {
          started.resolve();
          await finish.promise;
        },
      },
      { drainMs: 10, leaseMs: 3_000 },
    );
    const commandId = await bus.send("d", "T", { data: {} });
    await started.promise;
    await worker.stop();
    finish.resolve();
    await expect.poll(() => worker.getMetrics().commands_held, { timeout: 20_000 }).toBe(0);
    await worker.start();
    await untilStatus(bus, commandId, "COMPLETED");
    expect(await bus.getCommand("d", commandId)).toMatchObject({ lostLeases: 1 });
  });

  it("comes back when its handler outlasts the stop, though the same worker starts again", async () => {
    await using t = await setup();
    t.logs.expectLog({ logger: "commands.worker", level: "warn", message: "1 handlers did not end; *" });
    const bus = openBus(t);
    const started = deferred();
    const finish = deferred();
    let runs = 0;
    const hangOnce = async () => {
      started.resolve();
      if (++runs === 1) await finish.promise;
    };
    const worker = await startWorker(t, bus, { T: hangOnce }, { drainMs: 10, leaseMs: 3_000 });
    const commandId = await bus.send("d", "T", { data: {} });
    await started.promise;
    await worker.stop();
    await worker.start();
    await untilStatus(bus, commandId, "COMPLETED");
    finish.resolve();
    expect(await bus.getCommand("d", commandId)).toMatchObject({ lostLeases: 1 });
  });

  it("gives a lost worker's commands to others, aborts its signal and refuses its late outcome", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const started = deferred<CommandContext>();
    const finish = deferred();
    const clock = new FakeClock();
    const leaseMs = 30_000;
    const batchId = await bus.createBatch("d", commands(1));
    const slow = await startWorker(
      t,
      bus,
      {
        T: async (_command, context) => {
          started.resolve(context);
          await finish.promise;
          return "late";
        },
      },
      { clock, leaseMs },
    );
    const context = await started.promise;
    const { signal } = context;
    // Run out and taken back in one step: a renewal in between would save the lease.
    await t.database.transaction(async (tx) => {
      await tx.query(expireLeases);
      await tx.query("SELECT FROM tallyman.command_bus_reclaim(10, 10)");
    });
    await clock.advance(leaseMs / 3);
    await expect.poll(() => signal.aborted, { timeout: 20_000 }).toBe(true);
    await expect(context.extend()).rejects.toMatchObject({ code: "LEASE_LOST" });
    await expect(context.transaction(async () => 1)).rejects.toMatchObject({ code: "LEASE_LOST" });
    const [command] = await bus.listBatchCommands("d", batchId);
    expect(command).toMatchObject({ attempts: 0, lostLeases: 1 });
    await startWorker(t, bus, { T: () => "in time" });
    // The slow worker may get it again itself; it would hang there.
    finish.resolve();
    const batch = await untilFinished(bus, batchId);
    expect(batch).toMatchObject({ status: "COMPLETED", completedCount: 1, totalCount: 1 });
    await slow.stop();
    expect(slow.getMetrics().commands_stale).toBeGreaterThanOrEqual(1);
    expect((await events(bus, command?.commandId ?? "")).filter((e) => e === "COMPLETED")).toHaveLength(1);
  });

  it("refuses an outcome of another lease, whatever it says", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const finish = deferred();
    const started = deferred();
    const batchId = await bus.createBatch("d", commands(1));
    const stale = await startWorker(
      t,
      bus,
      {
        T: async () => {
          started.resolve();
          await finish.promise;
          return "stale";
        },
      },
      // Full with one, so that the worker does not take the command again by itself.
      { concurrency: 1, prefetch: 1, leaseMs: 60_000, maintenanceIntervalMs: 60_000 },
    );
    await started.promise;
    await t.database.query(expireLeases);
    // Another worker holds the command now, in progress as before but under its own lease. The worker's own first
    // maintenance may be about to take the command back: then it is there a moment later.
    const claimedByOther = async () => {
      await bus.maintenance.runOnce(10);
      const { rows } = await t.database.query(
        "SELECT lease_token FROM tallyman.command_bus_claim('d', 1, 60000, 'other', '{}')",
      );
      return rows.length;
    };
    await expect.poll(claimedByOther, { timeout: 20_000 }).toBe(1);
    finish.resolve();
    await stale.stop();
    const [command] = await bus.listBatchCommands("d", batchId);
    expect(command).toMatchObject({ status: "IN_PROGRESS", result: null });
    expect(await bus.getBatch("d", batchId)).toMatchObject({ completedCount: 0, status: "IN_PROGRESS" });
  });

  it("takes a command that loses ten workers for the cause", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const batchId = await bus.createBatch("d", commands(1));
    for (let lost = 1; lost <= 10; lost++) {
      await t.database.query("SELECT * FROM tallyman.command_bus_claim('d', 1, -1000, 'doomed', '{}')");
      expect(await bus.maintenance.runOnce(10)).toBe(1);
    }
    const [command] = await bus.listBatchCommands("d", batchId);
    expect(command).toMatchObject({
      status: "IN_TROUBLESHOOTING_QUEUE",
      errorCode: "WORKER_LOST",
      attempts: 0,
      lostLeases: 10,
    });
    expect(await bus.getBatch("d", batchId)).toMatchObject({ inTroubleshootingCount: 1 });
    expect((await bus.recount()).miscounts).toEqual([]);
  });

  it("leaves neighbours alone when one outcome can't be stored, and gets that command again", async () => {
    await using t = await setup();
    const bus = openBus(t);
    t.logs.expectLog({
      logger: "commands.outcomes",
      level: "warn",
      message: "A group of * outcomes was refused*",
    });
    t.logs.expectLog({
      logger: "commands.worker",
      level: "error",
      message: "The outcome of command * was not stored*",
    });
    await t.database.query(
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         IF NEW.result = '"poison"' THEN RAISE EXCEPTION 'poison'; END IF; RETURN NEW; END $$`,
    );
    await t.database.query(
      "CREATE TRIGGER refuse BEFORE UPDATE ON tallyman.command_bus_command FOR EACH ROW EXECUTE FUNCTION refuse()",
    );
    const ids = await bus.sendMany(
      "d",
      [..."abcde"].map((data) => ({ commandType: "T", data })),
    );
    let runs = 0;
    const handler = ({ data }: { data: unknown }) => (data === "c" && ++runs === 1 ? "poison" : "fine");
    const worker = await startWorker(t, bus, { T: handler }, { groupDelayMs: 50 });
    for (const id of ids.filter((_, i) => i !== 2)) await untilStatus(bus, id, "COMPLETED");
    // The next claim tells the database which leases have ended; this one has not.
    const next = await bus.send("d", "T", { data: "f" });
    await untilStatus(bus, next, "COMPLETED");
    await expect.poll(() => worker.getMetrics().commands_held, { timeout: 20_000 }).toBe(0);
    const unstored = ids[2] ?? "";
    expect(await bus.getCommand("d", unstored)).toMatchObject({ status: "IN_PROGRESS" });
    await t.database.query(expireLeases);
    await untilStatus(bus, unstored, "COMPLETED");
    expect(await bus.getCommand("d", unstored)).toMatchObject({ result: "fine", lostLeases: 1 });
  });

  it("gets a command again whose handler gave up while nobody had taken it back yet", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const gaveUp = deferred();
    let blockedMs = 0;
    const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + blockedMs };
    const blockedPastItsLease = async ({ lostLeases }: { lostLeases: number }, context: CommandContext) => {
      if (lostLeases > 0) return "done";
      blockedMs = 60_000;
      gaveUp.resolve();
      await context.extend();
      return undefined;
    };
    await startWorker(t, bus, { T: blockedPastItsLease, Next: () => undefined }, { clock });
    const commandId = await bus.send("d", "T", { data: {} });
    await gaveUp.promise;
    // The next claim tells the database which leases have ended; this one has not.
    await untilStatus(bus, await bus.send("d", "Next", { data: {} }), "COMPLETED");
    await t.database.query(expireLeases);
    await untilStatus(bus, commandId, "COMPLETED");
    const command = await bus.getCommand("d", commandId);
    expect(command).toMatchObject({ result: "done", attempts: 1, lostLeases: 1 });
  });

  it("keeps an outcome that finds the pool busy", async () => {
    await using t = await setup();
    // The same limit goes for a connection that is still to be made.
    const busy = await t.connect({ poolMax: 2, acquireTimeoutMs: 3_000, listenUrl: null });
    const started = deferred();
    const finish = deferred();
    let runs = 0;
    const handler = async () => {
      runs++;
      started.resolve();
      await finish.promise;
    };
    const bus = openBus(t);
    const commandId = await bus.send("d", "T", { data: {} });
    // Full with one: its next claim comes when the handler has ended, and finds the pool as busy as the outcome does.
    t.logs.expectLog({
      logger: "commands.worker",
      level: "warn",
      message: "No commands could be claimed, trying again: *No connection became free in time*",
    });
    const full = { concurrency: 1, prefetch: 1 };
    await startWorker(t, openBus(t, busy), { T: handler }, { ...full, maintenanceIntervalMs: 60_000 });
    await started.promise;
    const free = deferred();
    const holders = [1, 2].map(() =>
      busy.transaction(async (tx) => {
        await tx.query("SELECT");
        await free.promise;
      }),
    );
    await expect.poll(() => busy.stats.active, { timeout: 20_000 }).toBe(2);
    finish.resolve();
    await expect.poll(() => busy.getErrors().length, { timeout: 20_000 }).toBeGreaterThan(2);
    free.resolve();
    await Promise.all(holders);
    await untilStatus(bus, commandId, "COMPLETED");
    expect(runs).toBe(1);
  });

  it("is lost, and not begun, when its renewal gets no answer", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const started = deferred<AbortSignal>();
    const finish = deferred();
    const seen: unknown[] = [];
    await bus.sendMany("d", commands(3));
    const handler = async ({ data }: { data: unknown }, { signal }: CommandContext) => {
      seen.push((data as { n: number }).n);
      if (seen.length === 1) return; // a fast one: from now on commands are taken ahead
      started.resolve(signal);
      await finish.promise;
    };
    const clock = new FakeClock();
    const worker = await startWorker(t, bus, { T: handler }, { clock, concurrency: 1, leaseMs: 30_000 });
    const signal = await started.promise;
    expect(worker.getMetrics().commands_held).toBe(2);
    await t.database.transaction(async (tx) => {
      await tx.query("SELECT FROM tallyman.command_bus_lease FOR UPDATE");
      await clock.advance(29_000);
      expect(signal.aborted).toBe(false);
      await clock.advance(2_000);
      expect(signal.aborted).toBe(true);
      finish.resolve();
    });
    await worker.stop();
    expect(seen).toEqual([0, 1]);
  });
});
