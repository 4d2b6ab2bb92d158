import { describe, expect, it } from "vitest";
import { events, openBus, startWorker, untilStatus } from "../../tests/kit/commands.ts";
import { deferred, sleep } from "../runtime/index.ts";
import { FakeClock, setup } from "../testing/index.ts";
import { BusinessRuleError, type CommandContext, PermanentError, TransientError } from "./index.ts";
import { claimCommands } from "./sql/claim.ts";

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
    const runAt = new Date(Date.now() + 3_600_000);
    const later = await bus.send("d", "T", { data: "later", runAt, priority: 99 });
    await bus.sendMany("d", [
      { commandType: "T", data: "old" },
      { commandType: "T", data: "new" },
      { commandType: "T", data: "urgent", priority: 1 },
      { commandType: "T", data: "low", priority: -1 },
    ]);
    await startWorker(t, bus, { T: ({ data }) => void order.push(data) }, { concurrency: 1 });
    await expect.poll(() => order, { timeout: 20_000 }).toEqual(["urgent", "old", "new", "low"]);
    expect(await bus.getCommand("d", later)).toMatchObject({ status: "PENDING", runAt });
    await t.database.query("UPDATE tallyman.command_bus_queue SET run_at = clock_timestamp()");
    await untilStatus(bus, later, "COMPLETED");
    expect(order).toEqual(["urgent", "old", "new", "low", "later"]);
  });

  it("ends a handler that takes too long, and lets it ask for more time", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const slowAborted = deferred();
    const slowIds: string[] = [];
    await startWorker(
      t,
      bus,
      {
        Slow: (_command, { signal }) =>
          new Promise<void>((resolve) =>
            signal.addEventListener("abort", () => {
              slowAborted.resolve();
              resolve();
            }),
          ),
        // Another handler that began later is out of time: so would this one be, had it not asked for more.
        Extended: async (_command, context) => {
          await context.extend(600_000);
          slowIds.push(await bus.send("d", "Slow", { data: {} }));
          await slowAborted.promise;
          return "done";
        },
      },
      { handlerTimeoutMs: 60, maxAttempts: 1 },
    );
    const extended = await bus.send("d", "Extended", { data: {} });
    await untilStatus(bus, extended, "COMPLETED");
    const [slow = ""] = slowIds;
    await untilStatus(bus, slow, "IN_TROUBLESHOOTING_QUEUE");
    expect(await bus.getCommand("d", slow)).toMatchObject({ errorCode: "TIMED_OUT" });
  });

  it("hands out nothing of a paused domain, and goes on when it is resumed", async () => {
    await using t = await setup();
    const bus = openBus(t);
    await bus.pauseDomain("d", { operator: "mia" });
    expect((await bus.stats()).pausedDomains).toEqual(["d"]);
    const seen: unknown[] = [];
    await startWorker(t, bus, { T: ({ data }) => void seen.push(data) }, { pollIntervalMs: 10 });
    const commandId = await bus.send("d", "T", { data: 1 });
    const request = { domain: "d", limit: 1, leaseMs: 60_000, worker: "w", endedLeases: [] };
    expect(await claimCommands(t.database, request)).toEqual([]);
    expect(seen).toEqual([]);
    await bus.resumeDomain("d", { operator: "mia" });
    await untilStatus(bus, commandId, "COMPLETED");
  });

  it("outlives handlers that throw what is no error", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const thrown = [
      undefined,
      null,
      Object.create(null),
      Object.assign(new Error(), { message: 7, name: "\u0000" }),
    ];
    const reject = ({ data }: { data: unknown }) => Promise.reject(thrown[data as number]);
    await startWorker(t, bus, { T: reject });
    for (const data of thrown.keys()) {
      const commandId = await bus.send("d", "T", { data, maxAttempts: 1 });
      await untilStatus(bus, commandId, "IN_TROUBLESHOOTING_QUEUE");
    }
  });

  it("gives a handler as much time as a timer can", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const refused = { code: "INVALID_OPTION" };
    const handler = async (_command: unknown, context: CommandContext) => {
      await expect(context.extend(Number.NaN)).rejects.toMatchObject(refused);
      await expect(context.extend(-1)).rejects.toMatchObject(refused);
      await sleep(20);
      await context.extend(2 ** 40);
      await sleep(20);
      return "in time";
    };
    await startWorker(t, bus, { T: handler }, { handlerTimeoutMs: 2 ** 31 });
    const commandId = await bus.send("d", "T", { data: {}, maxAttempts: 1 });
    await untilStatus(bus, commandId, "COMPLETED");
  });

  it("runs no handler again whose result can't be stored", async () => {
    await using t = await setup();
    const bus = openBus(t);
    let runs = 0;
    await startWorker(t, bus, { T: () => ({ n: BigInt(++runs) }) });
    const commandId = await bus.send("d", "T", { data: {} });
    await untilStatus(bus, commandId, "IN_TROUBLESHOOTING_QUEUE");
    expect(runs).toBe(1);
  });

  it("wakes up by a hint", async () => {
    await using t = await setup();
    const bus = openBus(t);
    let done = deferred();
    // It would not look by itself for hours: only a hint can bring the second command and those after it.
    await startWorker(t, bus, { T: () => done.resolve() }, { pollIntervalMs: 10_000_000 });
    await expect.poll(() => t.database.listener.isConnected, { timeout: 20_000 }).toBe(true);
    for (let i = 0; i < 10; i++) {
      done = deferred();
      await bus.send("d", "T", { data: i });
      await done.promise;
    }
  });

  it("asks no more than twice a second while idle", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const clock = new FakeClock();
    await startWorker(t, bus, {}, { clock, pollIntervalMs: 1_000, maintenanceIntervalMs: 5_000 });
    // Asleep: the renewal of leases, the maintenance, and the wait for work.
    const untilAsleep = () => expect.poll(() => clock.pendingSleeps, { timeout: 20_000 }).toBe(3);
    const asked = () => t.database.getMetrics().queries_executed ?? 0;
    await untilAsleep();
    const before = asked();
    for (let second = 0; second < 5; second++) {
      await clock.advance(1_000);
      await untilAsleep();
    }
    expect(asked() - before).toBeGreaterThanOrEqual(5);
    expect(asked() - before).toBeLessThanOrEqual(2 * 5);
  });
});
