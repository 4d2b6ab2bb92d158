import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import {
  batchEvents,
  commands,
  events,
  openBus,
  startWorker,
  untilFinished,
  untilStatus,
} from "../../tests/kit/commands.ts";
import { deferred } from "../runtime/index.ts";
import { setup } from "../testing/index.ts";
import {
  type AuditEvent,
  type BatchMetadata,
  BatchSealedError,
  type CommandBus,
  DuplicateCommandError,
} from "./index.ts";

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
    const completed = async () => (await bus.getBatch("d", batchId))?.completedCount;
    await expect.poll(completed, { timeout: 20_000 }).toBe(5);
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
    await bus.decideCancellation("d", half, { operator: "mia" });
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
    expect(await lastEvent(bus, half)).toMatchObject({
      eventType: "OPERATOR_CANCEL",
      details: { operator: "mia" },
    });
    expect(await lastEvent(bus, expired)).toMatchObject({
      eventType: "EXPIRED",
      details: { operator: "expiry" },
    });
  });

  it("tells the caller the count, also when maintenance was quicker", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const batchId = await bus.createBatch("d", commands(3), { expiresAt: new Date(Date.now() + 60_000) });
    const [first] = await bus.listBatchCommands("d", batchId);
    await bus.cancelCommand("d", first?.commandId ?? "", { operator: "mia" });
    const { canceledBefore, cancelable } = await bus.decideCancellation("d", batchId, { operator: "mia" });
    expect(cancelable).toBe(2);
    await bus.maintenance.runOnce(10);
    expect(await bus.carryOutCancellation("d", batchId, { operator: "mia", canceledBefore })).toBe(2);
  });
});

async function lastEvent(bus: CommandBus, batchId: string): Promise<AuditEvent | undefined> {
  const [command] = await bus.listBatchCommands("d", batchId);
  return (await bus.history("d", command?.commandId ?? "")).at(-1);
}
