import { describe, expect, it } from "vitest";
import {
  batchEvents,
  commands,
  obey,
  openBus,
  startWorker,
  untilFinished,
} from "../../tests/kit/commands.ts";
import type { Transaction } from "../database/index.ts";
import { deferred } from "../runtime/index.ts";
import { setup } from "../testing/index.ts";
import { type BatchMetadata, PermanentError } from "./index.ts";
import { type ClaimedRow, claimCommands } from "./sql/claim.ts";
import { type Settled, settleCommands } from "./sql/settle.ts";

describe("batch counters", () => {
  it("starts on the first receive and completes when all have ended", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const started = deferred();
    const goOn = deferred();
    const batchId = await bus.createBatch("d", commands(5));
    await startWorker(
      t,
      bus,
      {
        T: async () => {
          started.resolve();
          await goOn.promise;
        },
      },
      { concurrency: 1 },
    );
    await started.promise;
    const running = await bus.getBatch("d", batchId);
    expect(running).toMatchObject({ status: "IN_PROGRESS", completedAt: null, completedCount: 0 });
    expect(running?.startedAt).toBeInstanceOf(Date);
    goOn.resolve();
    const done = await untilFinished(bus, batchId);
    expect(done).toMatchObject({ status: "COMPLETED", completedCount: 5, failedCount: 0 });
    expect(done.completedAt?.getTime()).toBeGreaterThanOrEqual(
      done.startedAt?.getTime() ?? Number.POSITIVE_INFINITY,
    );
    expect(await batchEvents(bus, batchId)).toEqual(["BATCH_STARTED", "BATCH_COMPLETED"]);
  });

  it("waits for the troubleshooting queue, follows its resolutions and ends with failures", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const completions: BatchMetadata[] = [];
    const batchId = await bus.createBatch("d", commands(20), {
      onComplete: (batch) => void completions.push(batch),
    });
    await startWorker(t, bus, { T: obey });
    const counters = async () => {
      const batch = await bus.getBatch("d", batchId);
      return [batch?.completedCount, batch?.failedCount, batch?.canceledCount, batch?.inTroubleshootingCount];
    };
    await expect.poll(counters, { timeout: 20_000 }).toEqual([16, 2, 0, 2]);
    expect((await bus.getBatch("d", batchId))?.status).toBe("IN_PROGRESS");
    expect(completions).toEqual([]);
    const [first, second] = await bus.tsq.list({ domain: "d" });
    await bus.tsq.complete(
      { domain: "d", commandIds: [first?.commandId ?? ""] },
      { operator: "mia", result: "by hand" },
    );
    expect(await counters()).toEqual([17, 2, 0, 1]);
    await bus.tsq.cancel(
      { domain: "d", commandIds: [second?.commandId ?? ""] },
      { operator: "mia", reason: "lost" },
    );
    expect(await counters()).toEqual([17, 2, 1, 0]);
    expect(await untilFinished(bus, batchId)).toMatchObject({ status: "COMPLETED_WITH_FAILURES" });
    await expect.poll(() => completions.length, { timeout: 20_000 }).toBe(1);
    expect(completions[0]).toMatchObject({ batchId, status: "COMPLETED_WITH_FAILURES" });
    expect(await batchEvents(bus, batchId)).toEqual(["BATCH_STARTED", "BATCH_COMPLETED"]);
  });

  it("goes down in troubleshooting on an operator's retry, and ends COMPLETED when that works", async () => {
    await using t = await setup();
    const bus = openBus(t);
    let isBroken = true;
    const batchId = await bus.createBatch("d", commands(3));
    await startWorker(t, bus, {
      T: () => {
        if (isBroken) throw new PermanentError("broken");
      },
    });
    const troubled = async () => (await bus.getBatch("d", batchId))?.inTroubleshootingCount;
    await expect.poll(troubled, { timeout: 20_000 }).toBe(3);
    isBroken = false;
    expect(await bus.tsq.retry({ matching: { domain: "d" } }, { operator: "mia" })).toBe(3);
    expect(await untilFinished(bus, batchId)).toMatchObject({
      status: "COMPLETED",
      completedCount: 3,
      inTroubleshootingCount: 0,
    });
  });

  it("keeps many batches apart that share their flushes", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const batchIds = await Promise.all(Array.from({ length: 30 }, () => bus.createBatch("d", commands(20))));
    await startWorker(t, bus, { T: ({ data }) => ((data as { n: number }).n === 2 ? obey({ data }) : 1) });
    await startWorker(t, bus, { T: ({ data }) => ((data as { n: number }).n === 2 ? obey({ data }) : 1) });
    for (const batchId of batchIds) {
      expect(await bus.waitForBatch("d", batchId)).toMatchObject({ completedCount: 19, failedCount: 1 });
      expect(await batchEvents(bus, batchId)).toEqual(["BATCH_STARTED", "BATCH_COMPLETED"]);
    }
    expect(await bus.recount()).toEqual({ batches: 30, miscounts: [] });
  });

  it("completes the batch when its last two commands end at the same moment", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const batchId = await bus.createBatch("d", commands(2));
    const request = { domain: "d", limit: 2, leaseMs: 60_000, worker: "w", endedLeases: [] };
    const [first, second] = await claimCommands(t.database, request);
    const complete = (tx: Transaction, claimed?: ClaimedRow) =>
      settleCommands(tx, [{ id: claimed?.id ?? 0, outcome: "COMPLETED" }], { from: "IN_PROGRESS" });
    let waiting: Promise<Settled> | undefined;
    await t.database.transaction(async (tx) => {
      expect((await complete(tx, first)).completedBatches).toEqual([]);
      // The second one counts now, too, and waits for the batch's row until the first has committed.
      waiting = t.database.transaction((other) => complete(other, second));
      const blocked =
        "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
      const waiters = async () => (await t.database.query(blocked)).rows.length;
      await expect.poll(waiters, { timeout: 20_000 }).toBe(1);
    });
    expect((await waiting)?.completedBatches).toEqual([batchId]);
    expect(await untilFinished(bus, batchId)).toMatchObject({ status: "COMPLETED", completedCount: 2 });
  });

  it("locks batches in one order, so that groups which share them never deadlock", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const batchIds = await Promise.all(Array.from({ length: 20 }, () => bus.createBatch("d", commands(1))));
    // One waits for the other, all 200 of them: the last ones long.
    const database = await t.connect({ poolMax: 8, acquireTimeoutMs: 50_000 });
    const zeros = batchIds.map(() => 0);
    const count = (ids: readonly string[]) =>
      database.query("SELECT tallyman.command_bus_count($1::uuid[], $2, $2, $2, $2)", [ids, zeros]);
    const orders = Array.from({ length: 200 }, (_, i) => (i % 2 === 0 ? batchIds : batchIds.toReversed()));
    const outcomes = await Promise.allSettled(orders.map(count));
    expect(outcomes.filter(({ status }) => status === "rejected")).toEqual([]);
  });

  it("finds a wrong counter by recount", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const batchId = await bus.createBatch("d", commands(2));
    await t.database.query("UPDATE tallyman.command_bus_batch SET completed_count = 1");
    expect((await bus.recount()).miscounts).toMatchObject([
      { batchId, stored: { completed: 1 }, counted: { completed: 0 } },
    ]);
  });
});
