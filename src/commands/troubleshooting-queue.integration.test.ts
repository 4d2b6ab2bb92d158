import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { commands, openBus, startWorker, untilFinished, untilStatus } from "../../tests/kit/commands.ts";
import { FakeClock, setup, type TestContext } from "../testing/index.ts";
import { type CommandBus, InvalidOperationError, PermanentError } from "./index.ts";
import { ReplyQueue } from "./reply-queue.ts";

/** A batch whose commands are all in the troubleshooting queue, and no worker. */
async function troubled(t: TestContext, bus: CommandBus, count: number, more: object = {}): Promise<string> {
  const batchId = await bus.createBatch("d", commands(count, more));
  const worker = await startWorker(t, bus, {
    T: ({ data }) => {
      const { n } = data as { n: number };
      throw new PermanentError(n % 3 === 0 ? `order ${n} is closed` : `customer 'c${n}' is unknown`);
    },
  });
  await expect
    .poll(async () => (await bus.getBatch("d", batchId))?.inTroubleshootingCount, { timeout: 20_000 })
    .toBe(count);
  await worker.stop();
  return batchId;
}

describe("troubleshooting queue", () => {
  it("lists by filter and cursor, groups by kind of error, and counts", async () => {
    await using t = await setup();
    const bus = openBus(t);
    await troubled(t, bus, 9);
    const groups = await bus.tsq.groups();
    expect(groups).toMatchObject([
      {
        domain: "d",
        commandType: "T",
        errorSignature: "PermanentError: customer <text> is unknown",
        count: 6,
      },
      { errorSignature: "PermanentError: order <n> is closed", count: 3 },
    ]);
    const errorSignature = groups[1]?.errorSignature ?? "";
    const closed = await bus.tsq.list({ domain: "d", errorSignature });
    expect(closed.map(({ data }) => (data as { n: number }).n)).toEqual([0, 3, 6]);
    expect(await bus.tsq.list({ errorSignature, cursor: closed[0], limit: 1 })).toMatchObject([
      { data: { n: 3 } },
    ]);
    expect(await bus.tsq.count({ domain: "d", commandType: "T" })).toBe(9);
    expect(await bus.tsq.count({ domain: "e" })).toBe(0);
  });

  it("resolves all matching in bounded transactions, with replies and one audit row each", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const batchId = await troubled(t, bus, 2_500, { replyTo: "q" });
    const errorSignature = "PermanentError: order <n> is closed";
    const matching = { domain: "d", errorSignature };
    const preview = await bus.tsq.count(matching);
    expect(await bus.tsq.cancel({ matching }, { operator: "mia", reason: "closed for good" })).toBe(preview);
    expect(
      await bus.tsq.complete({ matching: { domain: "d" } }, { operator: "tom", result: { ok: true } }),
    ).toBe(2_500 - preview);
    expect(await untilFinished(bus, batchId)).toMatchObject({
      status: "COMPLETED_WITH_FAILURES",
      canceledCount: preview,
      completedCount: 2_500 - preview,
    });
    const { rows } = await t.database.query(
      `SELECT event_type AS event, details ->> 'operator' AS operator, count(*)::int AS n
       FROM tallyman.command_bus_audit WHERE event_type LIKE 'OPERATOR%' GROUP BY 1, 2 ORDER BY 1`,
    );
    expect(rows).toEqual([
      { event: "OPERATOR_CANCEL", operator: "mia", n: preview },
      { event: "OPERATOR_COMPLETE", operator: "tom", n: 2_500 - preview },
    ]);
    const replies = await bus.replies("q").receive({ limit: 3_000 });
    expect(replies.filter(({ outcome }) => outcome === "CANCELED")).toHaveLength(preview);
    expect(replies.find(({ outcome }) => outcome === "COMPLETED")).toMatchObject({ result: { ok: true } });
  });

  it("refuses a command in another state, naming it, and changes none of its list", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const batchId = await troubled(t, bus, 2);
    const pending = await bus.send("d", "T", { data: {} });
    const [first, second] = await bus.tsq.list();
    const ids = [first?.commandId ?? "", pending];
    const refused = await bus.tsq
      .cancel({ domain: "d", commandIds: ids }, { operator: "mia" })
      .catch((e) => e);
    expect(refused).toBeInstanceOf(InvalidOperationError);
    expect(refused).toMatchObject({ status: "PENDING", message: expect.stringContaining("it is PENDING") });
    expect(await bus.getBatch("d", batchId)).toMatchObject({ canceledCount: 0, inTroubleshootingCount: 2 });
    await expect(
      bus.tsq.retry({ domain: "d", commandIds: [randomUUID()] }, { operator: "mia" }),
    ).rejects.toMatchObject({
      code: "COMMAND_NOT_FOUND",
    });
    expect(second).toBeDefined();
  });

  it("counts a command once when many operators cancel it at the same time", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const batchId = await troubled(t, bus, 1);
    const [command] = await bus.tsq.list();
    const target = { domain: "d", commandIds: [command?.commandId ?? ""] };
    const outcomes = await Promise.allSettled(
      Array.from({ length: 8 }, (_, i) => bus.tsq.cancel(target, { operator: `operator ${i}` })),
    );
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const refusals = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
    expect(
      refusals.every((error) => error instanceof InvalidOperationError && error.status === "CANCELED"),
    ).toBe(true);
    expect(await untilFinished(bus, batchId)).toMatchObject({ canceledCount: 1, inTroubleshootingCount: 0 });
  });
});

describe("replies", () => {
  it("carry the correlation id and result, and are removed when acknowledged", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const correlationId = randomUUID();
    await startWorker(t, bus, { T: ({ data }) => ({ doubled: (data as { n: number }).n * 2 }) });
    const commandId = await bus.send("d", "T", { data: { n: 21 }, replyTo: "q", correlationId });
    await bus.send("d", "T", { data: { n: 1 } });
    for await (const reply of bus.replies("q")) {
      expect(reply).toMatchObject({
        commandId,
        correlationId,
        outcome: "COMPLETED",
        result: { doubled: 42 },
      });
      break;
    }
    // The loop broke before it asked for the next: the reply is hidden, not gone.
    expect(await bus.replies("q").receive()).toEqual([]);
    await t.database.query("UPDATE tallyman.command_bus_reply SET visible_at = clock_timestamp()");
    const again = await bus.replies("q").receive();
    expect(again).toMatchObject([{ deliveryCount: 2 }]);
    const stale = again.map((reply) => ({ ...reply, deliveryCount: 1 }));
    expect(await bus.replies("q").acknowledge(stale)).toBe(0);
    expect(await bus.replies("q").acknowledge(again)).toBe(1);
    expect((await t.database.query("SELECT FROM tallyman.command_bus_reply")).rows).toEqual([]);
  });

  it("come as they are made, to one reader each, until the signal", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const controller = new AbortController();
    const got: string[] = [];
    const readers = [1, 2].map(async () => {
      for await (const reply of bus.replies("q").stream(controller.signal)) {
        got.push(reply.commandId);
        if (got.length === 200) controller.abort();
      }
    });
    await startWorker(t, bus, { T: () => 1 });
    const ids = await bus.sendMany("d", commands(200, { replyTo: "q" }));
    await Promise.all(readers);
    expect(got.sort()).toEqual(ids.sort());
  });

  it("takes the rest of a page anew when a reader is slow, before another reader gets it too", async () => {
    await using t = await setup();
    const bus = openBus(t);
    await startWorker(t, bus, { T: () => 1 });
    await untilFinished(bus, await bus.createBatch("d", commands(3, { replyTo: "q" })));
    const clock = new FakeClock();
    const deliveries: number[] = [];
    for await (const { deliveryCount } of new ReplyQueue(t.database, bus.hints, "q", clock)) {
      deliveries.push(deliveryCount);
      if (deliveries.length === 1) await clock.advance(16_000);
      if (deliveries.length === 3) break;
    }
    expect(deliveries).toEqual([1, 2, 2]);
  });
});

describe("audit and retention", () => {
  it("pages through everything, newest first", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const ids = await bus.sendMany("d", commands(5));
    ids.push(await bus.send("d", "T", { data: {} }));
    const page = await bus.audit({ domain: "d", limit: 3 });
    const next = await bus.audit({ limit: 10, before: page[2]?.auditId });
    expect([...page, ...next].map(({ commandId }) => commandId)).toEqual(ids.toReversed());
    expect(await bus.audit({ eventType: "COMPLETED" })).toEqual([]);
  });

  it("deletes what is old and finished, whole batches only, and leaves the rest", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const done = await bus.createBatch("d", commands(3));
    const single = await bus.send("d", "T", { data: {} });
    const worker = await startWorker(t, bus, { T: () => 1 });
    await untilFinished(bus, done);
    await untilStatus(bus, single, "COMPLETED");
    await worker.stop();
    const half = await bus.createBatch("d", commands(2));
    const [first] = await bus.listBatchCommands("d", half);
    await t.database.query(
      "UPDATE tallyman.command_bus_command SET created_at = created_at - interval '1 day', finished_at = finished_at - interval '1 day'",
    );
    await t.database.query(
      "UPDATE tallyman.command_bus_batch SET created_at = created_at - interval '1 day', completed_at = completed_at - interval '1 day'",
    );
    await t.database.query(
      "UPDATE tallyman.command_bus_audit_group SET created_at = created_at - interval '1 day' WHERE group_id <= 2",
    );
    expect(await bus.prune({})).toEqual({ commands: 0, audit: 0 });
    expect(await bus.prune({ finishedMs: 3_600_000, auditMs: 3_600_000 })).toEqual({ commands: 4, audit: 4 });
    expect(await bus.getBatch("d", done)).toBeNull();
    expect(await bus.getBatch("d", half)).toMatchObject({ totalCount: 2 });
    expect(await bus.getCommand("d", first?.commandId ?? "")).not.toBeNull();
    expect((await bus.recount()).miscounts).toEqual([]);
  });

  it("has figures for the doctor", async () => {
    await using t = await setup();
    const bus = openBus(t);
    await bus.sendMany("d", [...commands(3), ...commands(1, { runAt: new Date(Date.now() + 60_000) })]);
    expect(await bus.stats()).toMatchObject({ ready: 3, waiting: 1, inProgress: 0, inTroubleshooting: 0 });
  });
});
