import { describe, expect, it } from "vitest";
import {
  commands,
  events,
  openBus,
  startWorker,
  untilFinished,
  untilStatus,
} from "../../tests/kit/commands.ts";
import { deferred, sleep } from "../runtime/index.ts";
import { setup } from "../testing/index.ts";
import { BusinessRuleError, type CommandContext, PermanentError, TransientError } from "./index.ts";

describe("Worker", () => {
  it("runs a command once and records what happened", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const seen: unknown[] = [];
    await startWorker(t, bus, {
      T: (command) => {
        seen.push(command.data);
        return { sum: 3 };
      },
    });
    const commandId = await bus.send("d", "T", { data: { a: 1, b: 2 } });
    await untilStatus(bus, commandId, "COMPLETED");
    expect(seen).toEqual([{ a: 1, b: 2 }]);
    expect(await bus.getCommand("d", commandId)).toMatchObject({
      attempts: 1,
      result: { sum: 3 },
      errorCode: null,
    });
    expect(await events(bus, commandId)).toEqual(["SENT", "RECEIVED", "COMPLETED"]);
  });

  it("tries transient and unknown failures again, waits longer each time, then asks for help", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const attempts: number[] = [];
    await startWorker(
      t,
      bus,
      {
        T: ({ attempt }) => {
          attempts.push(attempt);
          throw attempt === 1 ? new TransientError("gateway 502") : new Error("boom");
        },
      },
      { maxAttempts: 4, backoffMs: [1, 2] },
    );
    const commandId = await bus.send("d", "T", { data: {} });
    await untilStatus(bus, commandId, "IN_TROUBLESHOOTING_QUEUE");
    expect(attempts).toEqual([1, 2, 3, 4]);
    const history = await bus.history("d", commandId);
    const scheduled = history.filter(({ eventType }) => eventType === "RETRY_SCHEDULED");
    expect(scheduled.map(({ details }) => details?.delayMs)).toEqual([1, 2, 2]);
    expect(history.at(-1)).toMatchObject({
      eventType: "MOVED_TO_TSQ",
      details: { error: "boom", attempts: 4 },
    });
  });

  it("lets a command's own limit win over the worker's", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const fail = () => {
      throw new Error("no");
    };
    await startWorker(t, bus, { T: fail }, { maxAttempts: 2 });
    const less = await bus.send("d", "T", { data: {}, maxAttempts: 1 });
    const more = await bus.send("d", "T", { data: {}, maxAttempts: 3 });
    const own = await bus.send("d", "T", { data: {} });
    for (const id of [less, more, own]) await untilStatus(bus, id, "IN_TROUBLESHOOTING_QUEUE");
    const attempts = await Promise.all(
      [less, more, own].map(async (id) => (await bus.getCommand("d", id))?.attempts),
    );
    expect(attempts).toEqual([1, 3, 2]);
  });

  it("moves permanent failures to the troubleshooting queue without a reply, business failures to FAILED with one", async () => {
    await using t = await setup();
    const bus = openBus(t);
    await startWorker(t, bus, {
      Permanent: () => {
        throw new PermanentError("account 12 is gone");
      },
      Business: () => {
        throw new BusinessRuleError("limit reached");
      },
    });
    const permanent = await bus.send("d", "Permanent", { data: {}, replyTo: "q" });
    const business = await bus.send("d", "Business", { data: {}, replyTo: "q" });
    await untilStatus(bus, permanent, "IN_TROUBLESHOOTING_QUEUE");
    await untilStatus(bus, business, "FAILED");
    expect(await bus.replies("q").receive()).toMatchObject([
      { commandId: business, outcome: "FAILED", errorCode: "BUSINESS_RULE", errorMessage: "limit reached" },
    ]);
    expect((await bus.getCommand("d", permanent))?.errorSignature).toBe(
      "PermanentError: account <n> is gone",
    );
    expect(await events(bus, business)).toEqual(["SENT", "RECEIVED", "FAILED"]);
  });

  it("moves an unknown type to the troubleshooting queue and names the known ones", async () => {
    await using t = await setup();
    const bus = openBus(t);
    await startWorker(t, bus, { ShipOrder: () => 1, Refund: () => 1 });
    const commandId = await bus.send("d", "ShipOder", { data: {} });
    await untilStatus(bus, commandId, "IN_TROUBLESHOOTING_QUEUE");
    const { errorCode, errorMessage } = (await bus.getCommand("d", commandId)) ?? {};
    expect(errorCode).toBe("COMMAND_TYPE_UNKNOWN");
    expect(errorMessage).toMatch(/ShipOrder, Refund.*Did you mean 'ShipOrder'/);
  });

  it("takes the urgent first, then the oldest, and nothing before its time", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const order: unknown[] = [];
    const now = Date.now();
    const later = await bus.send("d", "T", { data: "later", runAt: new Date(now + 400), priority: 99 });
    await bus.sendMany("d", [
      { commandType: "T", data: "old" },
      { commandType: "T", data: "new" },
      { commandType: "T", data: "urgent", priority: 1 },
      { commandType: "T", data: "low", priority: -1 },
    ]);
    await startWorker(t, bus, { T: ({ data }) => void order.push(data) }, { concurrency: 1 });
    await untilStatus(bus, later, "COMPLETED");
    expect(order).toEqual(["urgent", "old", "new", "low", "later"]);
    expect((await bus.getCommand("d", later))?.finishedAt?.getTime()).toBeGreaterThanOrEqual(now + 400);
  });

  it("ends a handler that takes too long, and lets it ask for more time", async () => {
    await using t = await setup();
    const bus = openBus(t);
    let aborted = false;
    const untilAborted = (context: CommandContext) =>
      new Promise<void>((resolve) => context.signal.addEventListener("abort", () => resolve()));
    await startWorker(
      t,
      bus,
      {
        Slow: async (_command, context) => {
          await untilAborted(context);
          aborted = true;
        },
        Extended: async (_command, context) => {
          await context.extend(5_000);
          await sleep(150);
          return "done";
        },
      },
      { handlerTimeoutMs: 60, maxAttempts: 1 },
    );
    const slow = await bus.send("d", "Slow", { data: {} });
    const extended = await bus.send("d", "Extended", { data: {} });
    await untilStatus(bus, slow, "IN_TROUBLESHOOTING_QUEUE");
    await untilStatus(bus, extended, "COMPLETED");
    expect(await bus.getCommand("d", slow)).toMatchObject({ errorCode: "TIMED_OUT" });
    expect(aborted).toBe(true);
  });

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

  it("gives a lost worker's commands to others, aborts its signal and refuses its late outcome", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const started = deferred<CommandContext>();
    const finish = deferred();
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
      { leaseMs: 300 },
    );
    const context = await started.promise;
    const { signal } = context;
    await t.database.query(
      "UPDATE tallyman.command_bus_lease SET lease_until = clock_timestamp() - interval '1 second'",
    );
    await bus.maintenance.runOnce(10);
    await expect.poll(() => signal.aborted, { timeout: 5_000 }).toBe(true);
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
    // Without hints, so that the worker does not take the command again by itself.
    const bus = openBus(t, await t.connect({ listenUrl: null }));
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
      { leaseMs: 60_000, maintenanceIntervalMs: 60_000, pollIntervalMs: 60_000 },
    );
    await started.promise;
    await t.database.query(
      "UPDATE tallyman.command_bus_lease SET lease_until = clock_timestamp() - interval '1 second'",
    );
    await bus.maintenance.runOnce(10);
    // Another worker holds the command now, in progress as before but under its own lease.
    const { rows } = await t.database.query<{ token: number }>(
      `SELECT lease_token AS token FROM tallyman.command_bus_claim('d', 1, 60000, 'other', '{}')`,
    );
    expect(rows).toHaveLength(1);
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

  it("hands out nothing of a paused domain, and goes on when it is resumed", async () => {
    await using t = await setup();
    const bus = openBus(t);
    await bus.pauseDomain("d", { operator: "mia" });
    expect((await bus.stats()).pausedDomains).toEqual(["d"]);
    const seen: unknown[] = [];
    await startWorker(t, bus, { T: ({ data }) => void seen.push(data) }, { pollIntervalMs: 10 });
    const commandId = await bus.send("d", "T", { data: 1 });
    await sleep(100);
    expect(seen).toEqual([]);
    await bus.resumeDomain("d", { operator: "mia" });
    await untilStatus(bus, commandId, "COMPLETED");
  });

  it("leaves neighbours alone when one outcome can't be stored", async () => {
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
    await startWorker(t, bus, { T: ({ data }) => (data === "c" ? "poison" : "fine") }, { groupDelayMs: 50 });
    for (const id of ids.filter((_, i) => i !== 2)) await untilStatus(bus, id, "COMPLETED");
    expect(await bus.getCommand("d", ids[2] ?? "")).toMatchObject({ status: "IN_PROGRESS" });
  });

  it("wakes up by a hint, and asks little while idle", async () => {
    await using t = await setup();
    const bus = openBus(t);
    let done = deferred<number>();
    await startWorker(
      t,
      bus,
      { T: () => done.resolve(performance.now()) },
      { pollIntervalMs: 1_000, maintenanceIntervalMs: 5_000 },
    );
    await expect.poll(() => t.database.listener.isConnected).toBe(true);
    const latencies: number[] = [];
    for (let i = 0; i < 21; i++) {
      done = deferred();
      const sentMs = performance.now();
      await bus.send("d", "T", { data: i });
      latencies.push((await done.promise) - sentMs);
      await sleep(15);
    }
    // The poll comes after a second: a median far below it is the hint's. The exact figure is a matter of bench/.
    expect(latencies.sort((a, b) => a - b)[10]).toBeLessThan(100);
    const calls = async () => {
      const { rows } = await t.database.query<{ n: number }>(
        "SELECT sum(xact_commit + xact_rollback)::int AS n FROM pg_stat_database WHERE datname = current_database()",
      );
      return rows[0]?.n ?? 0;
    };
    await sleep(1_200);
    const before = await calls();
    await sleep(4_000);
    // Statistics arrive late, and asking for them counts as well.
    expect((await calls()) - before).toBeLessThanOrEqual(2 * 5 + 1);
  });
});

describe("context.transaction", () => {
  it("commits the handler's writes with the completion, and undoes them with a failure", async () => {
    await using t = await setup();
    const bus = openBus(t);
    await t.database.query("CREATE TABLE effect (n int)");
    await startWorker(t, bus, {
      T: ({ data, attempt }, context) =>
        context.transaction(async (tx) => {
          await tx.query("INSERT INTO effect VALUES ($1)", [(data as { n: number }).n]);
          if (attempt === 1) throw new Error("after the write");
          return "written";
        }),
    });
    const batchId = await bus.createBatch("d", commands(20));
    expect(await untilFinished(bus, batchId)).toMatchObject({ completedCount: 20 });
    const { rows } = await t.database.query("SELECT n FROM effect ORDER BY n");
    expect(rows).toEqual(Array.from({ length: 20 }, (_, n) => ({ n })));
    const [first] = await bus.listBatchCommands("d", batchId, { limit: 1 });
    expect(first).toMatchObject({ attempts: 2, result: "written" });
  });

  it("writes nothing when the lease was lost before, and can't be reclaimed while it is open", async () => {
    await using t = await setup();
    const bus = openBus(t);
    await t.database.query("CREATE TABLE effect (n int)");
    const inside = deferred();
    const goOn = deferred();
    await startWorker(
      t,
      bus,
      {
        T: (_command, context) =>
          context.transaction(async (tx) => {
            await tx.query("INSERT INTO effect VALUES (1)");
            inside.resolve();
            await goOn.promise;
          }),
      },
      { leaseMs: 60_000, maintenanceIntervalMs: 60_000 },
    );
    const commandId = await bus.send("d", "T", { data: {} });
    await inside.promise;
    await t.database.query(
      "UPDATE tallyman.command_bus_lease SET lease_until = clock_timestamp() - interval '1 second'",
    );
    expect(await bus.maintenance.runOnce(10)).toBe(0);
    goOn.resolve();
    await untilStatus(bus, commandId, "COMPLETED");
    const { rows } = await t.database.query("SELECT count(*)::int AS n FROM effect");
    expect(rows).toEqual([{ n: 1 }]);
  });

  it("costs no attempt when the connection is lost", async () => {
    await using t = await setup();
    const bus = openBus(t);
    let runs = 0;
    await startWorker(t, bus, {
      T: (_command, context) =>
        context.transaction(async (tx) => {
          if (++runs <= 10) await tx.query("SELECT pg_terminate_backend(pg_backend_pid())");
        }),
    });
    const commandId = await bus.send("d", "T", { data: {}, maxAttempts: 1 });
    await untilStatus(bus, commandId, "COMPLETED");
    expect(await bus.getCommand("d", commandId)).toMatchObject({ attempts: 1 });
    expect(await events(bus, commandId)).toContain("RETRY_SCHEDULED");
  });

  it("is refused a second time", async () => {
    await using t = await setup();
    const bus = openBus(t);
    t.logs.expectLog({
      logger: "commands.worker",
      level: "warn",
      message: "The handler of T failed after its transaction had completed the command: *once per attempt.",
    });
    await startWorker(t, bus, {
      T: async (_command, context) => {
        await context.transaction(async () => 1);
        await context.transaction(async () => 2);
      },
    });
    const commandId = await bus.send("d", "T", { data: {} });
    await untilStatus(bus, commandId, "COMPLETED");
    expect((await bus.getCommand("d", commandId))?.result).toBe(1);
  });
});
