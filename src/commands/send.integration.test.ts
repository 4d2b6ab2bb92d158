import { randomUUID } from "node:crypto";
import pg from "pg";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { commands, events, openBus, startWorker, untilStatus } from "../../tests/kit/commands.ts";
import { setup } from "../testing/index.ts";
import { DuplicateCommandError } from "./index.ts";

async function countRows(database: {
  query: (text: string) => Promise<{ rows: object[] }>;
}): Promise<object> {
  const { rows } = await database.query(
    `SELECT (SELECT count(*) FROM tallyman.command_bus_command)::int AS commands,
            (SELECT count(*) FROM tallyman.command_bus_batch)::int AS batches,
            (SELECT count(*) FROM tallyman.command_bus_audit)::int AS audit`,
  );
  return rows[0] ?? {};
}

describe("send", () => {
  it("stores a command with its SENT event and one correlation id", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const commandId = randomUUID();
    const sent = await bus.send("d", "T", {
      commandId,
      data: { a: 1 },
      replyTo: "q",
      priority: 5,
      maxAttempts: 2,
    });
    expect(sent).toBe(commandId);
    expect(await bus.getCommand("d", commandId)).toMatchObject({
      status: "PENDING",
      data: { a: 1 },
      replyTo: "q",
      correlationId: commandId,
      priority: 5,
      maxAttempts: 2,
      attempts: 0,
    });
    expect(await events(bus, commandId)).toEqual(["SENT"]);
  });

  it("refuses an id twice in a domain, names it, and allows it in another", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const commandId = await bus.send("d", "T", { data: {} });
    const again = await bus.send("d", "T", { commandId: commandId.toUpperCase(), data: {} }).catch((e) => e);
    expect(again).toBeInstanceOf(DuplicateCommandError);
    expect(again).toMatchObject({ code: "COMMAND_DUPLICATE", domain: "d", commandId });
    await bus.send("other", "T", { commandId, data: {} });
    await expect(bus.sendMany("d", [...commands(3), ...commands(1, { commandId })])).rejects.toMatchObject({
      commandId,
    });
    expect(await countRows(t.database)).toEqual({ commands: 2, batches: 0, audit: 2 });
  });

  it("sends 20,000 commands in one transaction, in order", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const ids = await bus.sendMany("d", commands(20_000));
    expect(new Set(ids).size).toBe(20_000);
    expect(await countRows(t.database)).toEqual({ commands: 20_000, batches: 0, audit: 20_000 });
    const { rows } = await t.database.query<{ id: string }>(
      "SELECT c.command_id AS id FROM tallyman.command_bus_command c ORDER BY c.id",
    );
    expect(rows.map(({ id }) => id)).toEqual(ids);
    await expect(
      bus.sendMany("d", [...commands(6_000), ...commands(1, { commandId: ids[7] })]),
    ).rejects.toBeInstanceOf(DuplicateCommandError);
    expect(await countRows(t.database)).toMatchObject({ commands: 20_000 });
  });

  it("refuses an unknown batch, and one of another domain", async () => {
    await using t = await setup();
    const bus = openBus(t);
    await expect(bus.send("d", "T", { data: {}, batchId: randomUUID() })).rejects.toMatchObject({
      code: "BATCH_NOT_FOUND",
    });
    const batchId = await bus.createBatch("other", [], { open: true });
    await expect(bus.send("d", "T", { data: {}, batchId })).rejects.toMatchObject({
      code: "BATCH_NOT_FOUND",
    });
    expect(await countRows(t.database)).toMatchObject({ commands: 0 });
  });

  it.each([
    ["data over the limit", { data: "x".repeat(1024 * 1024) }, "COMMAND_TOO_LARGE"],
    ["data with a NUL character", { data: "a\u0000b" }, "COMMAND_INVALID"],
    ["half a surrogate pair", { data: { "\ud800": 1 } }, "COMMAND_INVALID"],
    ["data that is not JSON", { data: undefined }, "COMMAND_INVALID"],
    ["an id that is no UUID", { data: {}, commandId: "x" }, "COMMAND_INVALID"],
    ["a limit of no attempts", { data: {}, maxAttempts: 0 }, "COMMAND_INVALID"],
    ["an invalid date", { data: {}, runAt: new Date("x") }, "COMMAND_INVALID"],
  ])("refuses %s", async (_what, command, code) => {
    await using t = await setup();
    await expect(openBus(t).send("d", "T", command as { data: unknown })).rejects.toMatchObject({ code });
  });

  it("takes data with escaped backslashes and other letters, and gives them back", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const data = { path: "\\u0000 is text here", emoji: "😀", quote: `"'\n` };
    const commandId = await bus.send("d", "T", { data });
    expect((await bus.getCommand("d", commandId))?.data).toEqual(data);
  });

  it("joins the caller's transaction and disappears with it", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const client = new pg.Client(t.url);
    await client.connect();
    await client.query("BEGIN");
    await bus.send("d", "T", { data: {} }, { tx: client });
    await bus.createBatch("d", commands(2), {}, { tx: client });
    await client.query("ROLLBACK");
    expect(await countRows(t.database)).toEqual({ commands: 0, batches: 0, audit: 0 });
    await client.query("BEGIN");
    const commandId = await bus.send("d", "T", { data: {} }, { tx: client });
    expect(await bus.getCommand("d", commandId)).toBeNull();
    await client.query("COMMIT");
    await client.end();
    expect(await bus.getCommand("d", commandId)).toMatchObject({ status: "PENDING" });
  });

  it("spoils the caller's transaction when it refuses, so that nothing half-done can be committed", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const batchId = await bus.createBatch("d", commands(1));
    const kept = t.database.transaction(async (tx) => {
      await bus.send("d", "T", { data: {}, batchId }, { tx }).catch(() => undefined);
    });
    await expect(kept).rejects.toMatchObject({ code: "DATABASE_ERROR" });
    expect(await countRows(t.database)).toMatchObject({ commands: 1 });
  });
});

describe("schemas", () => {
  it("checks data at send, and gives handlers the schema's output", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const ship = bus.register("d", "Ship", z.object({ orderId: z.number(), at: z.coerce.date() }));
    await expect(bus.send("d", "Ship", { data: { orderId: "x", at: 0 } })).rejects.toMatchObject({
      code: "COMMAND_INVALID",
      message: expect.stringContaining("orderId"),
    });
    const worker = await startWorker(t, bus, {});
    worker.handle(ship, ({ data }) => data.at.getUTCFullYear() + data.orderId);
    const commandId = await bus.send("d", "Ship", { data: { orderId: 1, at: "2020-05-05" } });
    await untilStatus(bus, commandId, "COMPLETED");
    expect((await bus.getCommand("d", commandId))?.result).toBe(2021);
  });

  it("moves data that does not fit to the troubleshooting queue at receive, without an attempt more", async () => {
    await using t = await setup();
    const sender = openBus(t);
    const commandId = await sender.send("d", "Ship", { data: { orderId: "x" } });
    const bus = openBus(t);
    const ship = bus.register("d", "Ship", z.object({ orderId: z.number() }));
    const worker = await startWorker(t, bus, {});
    worker.handle(ship, () => "never");
    await untilStatus(bus, commandId, "IN_TROUBLESHOOTING_QUEUE");
    expect(await bus.getCommand("d", commandId)).toMatchObject({ errorCode: "COMMAND_INVALID", attempts: 1 });
  });
});

describe("the data of commands", () => {
  it("is refused in words where PostgreSQL has no place for it", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const invalid = { code: "COMMAND_INVALID" };
    await expect(bus.send("d", "T", { data: { n: 1n } })).rejects.toMatchObject(invalid);
    await expect(bus.createBatch("d", commands(1), { priority: 2 ** 31 })).rejects.toMatchObject(invalid);
  });

  it("is stored in chunks that stay small, all or none", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const text = "x".repeat(900_000);
    const large = Array.from({ length: 40 }, () => ({
      commandType: "T",
      data: text,
      commandId: randomUUID(),
    }));
    const [first] = await bus.sendMany("d", large.slice(0, 1));
    await expect(bus.sendMany("d", large.toReversed())).rejects.toMatchObject({ commandId: first });
    await bus.sendMany("d", large.slice(1));
    const { rows } = await t.database.query(
      "SELECT cardinality(command_ids) AS size FROM tallyman.command_bus_audit_group ORDER BY group_id",
    );
    expect(rows).toEqual([{ size: 1 }, { size: 19 }, { size: 19 }, { size: 1 }]);
  });
});
