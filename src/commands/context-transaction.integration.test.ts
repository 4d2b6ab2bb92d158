import { describe, expect, it } from "vitest";
import {
  commands,
  events,
  openBus,
  startWorker,
  untilFinished,
  untilStatus,
} from "../../tests/kit/commands.ts";
import { deferred } from "../runtime/index.ts";
import { setup } from "../testing/index.ts";
import type { CommandContext } from "./index.ts";

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

  it("has completed nothing while its commit is under way", async () => {
    await using t = await setup();
    const bus = openBus(t);
    await t.database.query("CREATE TABLE effect (attempt int)");
    await t.database.query(
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         IF NEW.attempt = 1 THEN PERFORM pg_sleep(0.5); RAISE EXCEPTION 'refused'; END IF; RETURN NULL; END $$`,
    );
    await t.database.query(
      `CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON effect DEFERRABLE INITIALLY DEFERRED
       FOR EACH ROW EXECUTE FUNCTION refuse()`,
    );
    const insert = ({ attempt }: { attempt: number }, context: CommandContext) =>
      context.transaction(async (tx) => {
        await tx.query("INSERT INTO effect VALUES ($1)", [attempt]);
        if (attempt === 1) await context.extend(200);
      });
    await startWorker(t, bus, { T: insert });
    const commandId = await bus.send("d", "T", { data: {} });
    await untilStatus(bus, commandId, "COMPLETED");
    const { rows } = await t.database.query("SELECT count(*)::int AS n FROM effect");
    expect(rows).toEqual([{ n: 1 }]);
  });

  it("is rolled back when its time is over, and holds nobody up", async () => {
    await using t = await setup();
    const bus = openBus(t);
    await t.database.query("CREATE TABLE effect (n int)");
    const late = deferred<unknown>();
    const goOn = deferred();
    await startWorker(
      t,
      bus,
      {
        Hangs: (_command, context) =>
          context.transaction(async (tx) => {
            await tx.query("INSERT INTO effect VALUES (1)");
            await context.extend(1);
            await goOn.promise;
            late.resolve(await tx.query("INSERT INTO effect VALUES (2)").catch((error: unknown) => error));
          }),
        T: () => "done",
      },
      { leaseMs: 60_000 },
    );
    const hanging = await bus.send("d", "Hangs", { data: {}, maxAttempts: 1 });
    await untilStatus(bus, hanging, "IN_TROUBLESHOOTING_QUEUE");
    expect(await bus.getCommand("d", hanging)).toMatchObject({ errorCode: "TIMED_OUT" });
    await untilStatus(bus, await bus.send("d", "T", { data: {} }), "COMPLETED");
    goOn.resolve();
    expect(await late.promise).toMatchObject({ code: "INVALID_STATE" });
    const { rows } = await t.database.query("SELECT count(*)::int AS n FROM effect");
    expect(rows).toEqual([{ n: 0 }]);
  });

  it("holds nobody up when its time is over while a statement waits for a lock", async () => {
    await using t = await setup();
    const bus = openBus(t);
    await t.database.query("CREATE TABLE effect (n int)");
    await t.database.query("INSERT INTO effect VALUES (0)");
    const timedOut = deferred();
    const add = ({ attempt }: { attempt: number }, context: CommandContext) =>
      context.transaction(async (tx) => {
        if (attempt === 1) {
          context.signal.addEventListener("abort", () => timedOut.resolve());
          await context.extend(1);
        }
        await tx.query("UPDATE effect SET n = n + 1");
      });
    await startWorker(t, bus, { Waits: add, T: () => "done" }, { leaseMs: 60_000 });
    const other = await t.connect();
    const waiting = await other.transaction(async (tx) => {
      await tx.query("SELECT FROM effect FOR UPDATE");
      const commandId = await bus.send("d", "Waits", { data: {} });
      await timedOut.promise;
      await untilStatus(bus, await bus.send("d", "T", { data: {} }), "COMPLETED");
      expect(await events(bus, commandId)).not.toContain("RETRY_SCHEDULED");
      return commandId;
    });
    await untilStatus(bus, waiting, "COMPLETED");
    expect(await bus.getCommand("d", waiting)).toMatchObject({ attempts: 2 });
    expect((await t.database.query("SELECT n FROM effect")).rows).toEqual([{ n: 1 }]);
  });

  it("leaves connections free, however many workers share the pool", async () => {
    await using t = await setup();
    const bus = openBus(t, await t.connect({ poolMax: 3 }));
    const asked = deferred();
    const finish = deferred();
    let open = 0;
    const hold = (context: CommandContext) =>
      context.transaction(async () => {
        open++;
        await finish.promise;
      });
    await startWorker(t, bus, { Holds: (_command, context) => hold(context), T: () => "done" });
    const waits = (_command: unknown, context: CommandContext) => {
      const holding = hold(context);
      asked.resolve();
      return holding;
    };
    await startWorker(t, bus, { Waits: waits }, { domain: "other" });
    const first = await bus.send("d", "Holds", { data: {} });
    await expect.poll(() => open, { timeout: 20_000 }).toBe(1);
    await bus.send("other", "Waits", { data: {} });
    await asked.promise;
    await untilStatus(bus, await bus.send("d", "T", { data: {} }), "COMPLETED");
    expect(open).toBe(1);
    finish.resolve();
    await untilStatus(bus, first, "COMPLETED");
    await expect.poll(() => open, { timeout: 20_000 }).toBe(2);
  });
});
