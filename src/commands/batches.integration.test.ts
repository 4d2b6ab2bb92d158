import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import {
  commands,
  events,
  openBus,
  startWorker,
  untilFinished,
  untilStatus,
} from "../../tests/kit/commands.ts";
import type { Transaction } from "../database/index.ts";
import { deferred } from "../runtime/index.ts";
import { setup } from "../testing/index.ts";
import {
  type BatchMetadata,
  BatchSealedError,
  BusinessRuleError,
  type CommandBus,
  DuplicateCommandError,
  PermanentError,
} from "./index.ts";
import { type ClaimedRow, claimCommands } from "./sql/claim.ts";
import { type Settled, settleCommands } from "./sql/settle.ts";

async function batchEvents(bus: CommandBus, batchId: string): Promise<string[]> {
  return (await bus.batchHistory("d", batchId)).map(({ eventType }) => eventType);
}

/** A handler that does as its data says. */
function obey({ data }: { data: unknown }) {
  const { n } = data as { n: number };
  if (n % 10 === 1) throw new PermanentError(`item ${n} is broken`);
  if (n % 10 === 2) throw new BusinessRuleError(`item ${n} is refused`);
  return n;
}

describe("createBatch", () => {
  it("stores the batch with all its commands and metadata", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const batchId = await bus.createBatch("d", commands(3), {
      name: "evening",
      customData: { by: "mia" },
      priority: 7,
    });
    const batch = await bus.getBatch("d", batchId);
    expect(batch).toMatchObject({
      batchId,
      domain: "d",
      name: "evening",
      customData: { by: "mia" },
      status: "PENDING",
      totalCount: 3,
      completedCount: 0,
      failedCount: 0,
      canceledCount: 0,
      inTroubleshootingCount: 0,
      startedAt: null,
      completedAt: null,
    });
    expect(batch?.createdAt).toBeInstanceOf(Date);
    const stored = await bus.listBatchCommands("d", batchId);
    expect(stored.map(({ data, priority }) => [data, priority])).toEqual([0, 1, 2].map((n) => [{ n }, 7]));
    const [sent] = await bus.history("d", stored[0]?.commandId ?? "");
    expect(sent).toMatchObject({ eventType: "SENT", batchId });
  });

  it.each([
    ["an empty list", () => [], "BATCH_EMPTY"],
    [
      "a command of another domain",
      () => [...commands(2), ...commands(1, { domain: "e" })],
      "COMMAND_INVALID",
    ],
    [
      "an id twice in the list",
      () => commands(2, { commandId: "0b84f1f4-98f7-4c3e-8f0b-0d7c5b3ff0aa" }),
      "COMMAND_DUPLICATE",
    ],
    [
      "bad data in the middle",
      () => [...commands(2), { commandType: "T", data: "\u0000" }],
      "COMMAND_INVALID",
    ],
  ])("refuses %s, and stores nothing", async (_what, list, code) => {
    await using t = await setup();
    const bus = openBus(t);
    await expect(bus.createBatch("d", list())).rejects.toMatchObject({ code });
    const { rows } = await t.database.query(
      "SELECT FROM tallyman.command_bus_command UNION ALL SELECT FROM tallyman.command_bus_batch",
    );
    expect(rows).toEqual([]);
  });

  it("rolls everything back when one id exists already, and drops the callback", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const commandId = await bus.send("d", "T", { data: {} });
    let called = 0;
    const creating = bus.createBatch("d", [...commands(5), ...commands(1, { commandId })], {
      onComplete: () => void called++,
    });
    await expect(creating).rejects.toBeInstanceOf(DuplicateCommandError);
    expect(await bus.listBatches("d")).toEqual([]);
    await bus.close();
    expect(called).toBe(0);
  });

  it("has the foreign key, the check and the indexes", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const batchId = await bus.createBatch("d", commands(1));
    await expect(t.database.query("DELETE FROM tallyman.command_bus_batch")).rejects.toMatchObject({
      code: "23503",
    });
    await expect(
      t.database.query("UPDATE tallyman.command_bus_batch SET status = 'CANCELED' WHERE batch_id = $1", [
        batchId,
      ]),
    ).rejects.toMatchObject({ code: "23514", constraint: "valid_status" });
    const { rows } = await t.database.query<{ name: string }>(
      "SELECT indexname AS name FROM pg_indexes WHERE schemaname = 'tallyman' AND indexname ~ '^idx_(batch|command_batch)'",
    );
    expect(rows.map(({ name }) => name).sort()).toEqual([
      "idx_batch_created_at",
      "idx_batch_domain",
      "idx_batch_status",
      "idx_command_batch_id",
    ]);
  });
});

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
    await expect.poll(counters, { timeout: 10_000 }).toEqual([16, 2, 0, 2]);
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
    await expect.poll(() => completions.length).toBe(1);
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
    await expect.poll(async () => (await bus.getBatch("d", batchId))?.inTroubleshootingCount).toBe(3);
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
      await expect.poll(async () => (await t.database.query(blocked)).rows.length).toBe(1);
    });
    expect((await waiting)?.completedBatches).toEqual([batchId]);
    expect(await untilFinished(bus, batchId)).toMatchObject({ status: "COMPLETED", completedCount: 2 });
  });

  it("locks batches in one order, so that groups which share them never deadlock", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const batchIds = await Promise.all(Array.from({ length: 20 }, () => bus.createBatch("d", commands(1))));
    const database = await t.connect({ poolMax: 8 });
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

describe("completion", () => {
  it("calls back in the creating process when another one finishes the batch, once", async () => {
    await using t = await setup();
    const creator = openBus(t, await t.connect());
    const other = openBus(t);
    const done = deferred<BatchMetadata>();
    let calls = 0;
    const batchId = await creator.createBatch("d", commands(10), {
      onComplete: (batch) => {
        calls++;
        done.resolve(batch);
      },
    });
    const worker = await startWorker(t, other, { T: () => 1 });
    expect(await done.promise).toMatchObject({ batchId, status: "COMPLETED", completedCount: 10 });
    await worker.stop();
    await creator.close();
    expect(calls).toBe(1);
  });

  it("calls back even when the batch was finished before createBatch returned", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const worker = await startWorker(t, bus, { T: () => 1 });
    const fired: string[] = [];
    // A creator that is slow to return from its commit: the batch may be finished by then.
    const tx = t.database.transaction.bind(t.database);
    t.database.transaction = async (work) => {
      const result = await tx(work);
      const { rows } = await t.database.query<{ id: string }>(
        "SELECT batch_id AS id FROM tallyman.command_bus_batch",
      );
      await bus.hints.commandsReady("d");
      await untilFinished(bus, rows[0]?.id ?? "");
      return result;
    };
    const batchId = await bus.createBatch("d", commands(1), {
      onComplete: (batch) => void fired.push(batch.batchId),
    });
    await expect.poll(() => fired, { timeout: 5_000 }).toEqual([batchId]);
    await worker.stop();
  });

  it("survives a callback that throws, and says so", async () => {
    await using t = await setup();
    const bus = openBus(t);
    t.logs.expectLog({
      logger: "commands.batches",
      level: "error",
      message: "The completion callback of batch * failed: Error: my own fault",
    });
    const after = deferred();
    await startWorker(t, bus, { T: () => 1 });
    await bus.createBatch("d", commands(1), { onComplete: () => Promise.reject(new Error("my own fault")) });
    await bus.createBatch("d", commands(1), { onComplete: () => after.resolve() });
    await after.promise;
    await expect.poll(() => t.logs.records.some(({ level }) => level === "error")).toBe(true);
  });

  it("forgets the callback of a caller's transaction that was rolled back", async () => {
    await using t = await setup();
    const bus = openBus(t);
    let called = 0;
    const rolledBack = t.database.transaction(async (tx) => {
      await bus.createBatch("d", commands(1), { onComplete: () => void called++ }, { tx });
      throw new Error("changed my mind");
    });
    await expect(rolledBack).rejects.toThrow("changed my mind");
    const kept = deferred();
    await t.database.transaction((tx) =>
      bus.createBatch("d", commands(1), { onComplete: () => kept.resolve() }, { tx }),
    );
    await startWorker(t, bus, { T: () => 1 });
    await kept.promise;
    expect(called).toBe(0);
  });

  it("enqueues the durable completion command in the completing transaction, once", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const seen = deferred<unknown>();
    await startWorker(t, bus, { T: obey, Done: ({ data }) => seen.resolve(data) });
    const batchId = await bus.createBatch(
      "d",
      commands(3).filter(({ data }) => data.n !== 1),
      {
        completion: { commandType: "Done", data: { invoice: 7 } },
      },
    );
    expect(await seen.promise).toMatchObject({
      invoice: 7,
      batch: { batchId, status: "COMPLETED_WITH_FAILURES", totalCount: 2, completedCount: 1, failedCount: 1 },
    });
    const { rows } = await t.database.query(
      "SELECT FROM tallyman.command_bus_command WHERE command_type = 'Done'",
    );
    expect(rows).toHaveLength(1);
  });

  it("lets many wait, and ends a wait by its signal", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const batchId = await bus.createBatch("d", commands(1));
    const controller = new AbortController();
    const aborted = bus.waitForBatch("d", batchId, { signal: controller.signal });
    const waiting = [bus.waitForBatch("d", batchId), bus.waitForBatch("d", batchId)];
    controller.abort();
    await expect(aborted).rejects.toMatchObject({ code: "ABORTED" });
    await startWorker(t, bus, { T: () => 1 });
    expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual(["COMPLETED", "COMPLETED"]);
    await expect(bus.waitForBatch("d", randomUUID())).rejects.toMatchObject({ code: "BATCH_NOT_FOUND" });
  });

  it("streams progress until the end", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const batchId = await bus.createBatch("d", commands(3));
    const seen: string[] = [];
    for await (const batch of bus.watchBatch("d", batchId, { intervalMs: 5 })) {
      seen.push(`${batch.status} ${batch.completedCount}`);
      if (seen.length === 1) await startWorker(t, bus, { T: () => 1 });
    }
    expect(seen[0]).toBe("PENDING 0");
    expect(seen.at(-1)).toBe("COMPLETED 3");
  });
});

describe("queries", () => {
  it("are scoped to the domain", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const batchId = await bus.createBatch("d", commands(1));
    expect(await bus.getBatch("e", batchId)).toBeNull();
    expect(await bus.getBatch("d", randomUUID())).toBeNull();
    expect(await bus.listBatches("e")).toEqual([]);
    expect(await bus.listBatchCommands("e", batchId)).toEqual([]);
  });

  it("page by offset and by cursor, newest batch and oldest command first", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.unshift(await bus.createBatch("d", commands(5)));
    const page = async (options: object) =>
      (await bus.listBatches("d", options)).map(({ batchId }) => batchId);
    expect(await page({})).toEqual(ids);
    expect(await page({ limit: 2, offset: 1 })).toEqual(ids.slice(1, 3));
    expect(await page({ limit: 2, cursor: ids[1] })).toEqual(ids.slice(2, 4));
    expect(await page({ status: "COMPLETED" })).toEqual([]);
    const all = await bus.listBatchCommands("d", ids[0] ?? "");
    const next = await bus.listBatchCommands("d", ids[0] ?? "", { limit: 2, cursor: all[1]?.commandId });
    expect(next.map(({ data }) => data)).toEqual([{ n: 2 }, { n: 3 }]);
    expect(await bus.listBatchCommands("d", ids[0] ?? "", { status: "COMPLETED" })).toEqual([]);
    await expect(bus.listBatches("d", { limit: 0 })).rejects.toMatchObject({ code: "INVALID_OPTION" });
    await expect(bus.listBatches("d", { status: "DONE" as "COMPLETED" })).rejects.toThrow(/one of PENDING/);
  });
});

describe("open, cancelled and expired batches", () => {
  it("completes an open batch only after its seal, and refuses commands then", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const batchId = await bus.createBatch("d", commands(1), { open: true });
    await startWorker(t, bus, { T: () => 1 });
    const added = await bus.addToBatch("d", batchId, commands(3));
    const sent = await bus.send("d", "T", { data: {}, batchId });
    for (const id of [...added, sent]) await untilStatus(bus, id, "COMPLETED");
    await expect.poll(async () => (await bus.getBatch("d", batchId))?.completedCount).toBe(5);
    expect(await bus.getBatch("d", batchId)).toMatchObject({
      status: "IN_PROGRESS",
      totalCount: 5,
      isSealed: false,
    });
    await bus.sealBatch("d", batchId);
    await bus.sealBatch("d", batchId);
    expect(await untilFinished(bus, batchId)).toMatchObject({ status: "COMPLETED", completedCount: 5 });
    await expect(bus.send("d", "T", { data: {}, batchId })).rejects.toBeInstanceOf(BatchSealedError);
    await expect(bus.addToBatch("d", batchId, commands(1))).rejects.toMatchObject({
      code: "BATCH_SEALED",
      batchId,
    });
    expect(await batchEvents(bus, batchId)).toEqual(["BATCH_STARTED", "BATCH_COMPLETED"]);
  });

  it("completes an open batch that stayed empty when it is sealed", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const batchId = await bus.createBatch("d", [], { open: true });
    await bus.sealBatch("d", batchId);
    expect(await untilFinished(bus, batchId)).toMatchObject({ status: "COMPLETED", totalCount: 0 });
  });

  it("cancels what nobody has begun, lets the rest end, and calls back", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const started = deferred();
    const goOn = deferred();
    const called = deferred<BatchMetadata>();
    const batchId = await bus.createBatch("d", commands(10, { replyTo: "q" }), {
      onComplete: called.resolve,
    });
    const worker = await startWorker(
      t,
      bus,
      {
        T: async () => {
          started.resolve();
          await goOn.promise;
          throw new Error("would be tried again");
        },
      },
      { concurrency: 1, prefetch: 1 },
    );
    await started.promise;
    expect(await bus.cancelBatch("d", batchId, { operator: "mia" })).toBe(9);
    expect(await bus.getBatch("d", batchId)).toMatchObject({ status: "IN_PROGRESS", canceledCount: 9 });
    goOn.resolve();
    expect(await untilFinished(bus, batchId)).toMatchObject({
      status: "COMPLETED_WITH_FAILURES",
      canceledCount: 10,
    });
    expect(await called.promise).toMatchObject({ batchId });
    await worker.stop();
    expect(await bus.replies("q").receive()).toHaveLength(10);
    const [first, second] = await bus.listBatchCommands("d", batchId);
    expect(await events(bus, first?.commandId ?? "")).toEqual(["SENT", "RECEIVED", "CANCELED"]);
    expect((await bus.history("d", second?.commandId ?? "")).at(-1)).toMatchObject({
      eventType: "OPERATOR_CANCEL",
      details: { operator: "mia" },
    });
    await expect(bus.cancelBatch("d", batchId, { operator: "mia" })).rejects.toMatchObject({
      code: "INVALID_STATE",
    });
  });

  it("goes on with a cancellation whose process died, and cancels expired batches", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const half = await bus.createBatch("d", commands(3));
    await t.database.query("UPDATE tallyman.command_bus_batch SET canceled_at = clock_timestamp()");
    const expired = await bus.createBatch("d", commands(3), { expiresAt: new Date(Date.now() - 1) });
    const alive = await bus.createBatch("d", commands(3), { expiresAt: new Date(Date.now() + 60_000) });
    await bus.maintenance.runOnce(10);
    for (const batchId of [half, expired]) {
      expect(await bus.getBatch("d", batchId)).toMatchObject({
        status: "COMPLETED_WITH_FAILURES",
        canceledCount: 3,
      });
    }
    expect(await bus.getBatch("d", alive)).toMatchObject({ status: "PENDING", canceledCount: 0 });
  });
});
