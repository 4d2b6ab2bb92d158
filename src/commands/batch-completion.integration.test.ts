import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { commands, obey, openBus, startWorker, untilFinished } from "../../tests/kit/commands.ts";
import { deferred } from "../runtime/index.ts";
import { setup } from "../testing/index.ts";
import type { BatchMetadata } from "./index.ts";

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
    await expect.poll(() => fired, { timeout: 20_000 }).toEqual([batchId]);
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
    const hasError = () => t.logs.records.some(({ level }) => level === "error");
    await expect.poll(hasError, { timeout: 20_000 }).toBe(true);
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

  it("is refused with the id of a command that exists, or is in the batch itself", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const commandId = await bus.send("d", "T", { data: {} });
    const duplicate = { code: "COMMAND_DUPLICATE", domain: "d", commandId };
    const completion = { commandType: "Done", commandId: commandId.toUpperCase() };
    await expect(bus.createBatch("d", commands(1), { completion })).rejects.toMatchObject(duplicate);
    const own = bus.createBatch("e", commands(1, { commandId }), { completion });
    await expect(own).rejects.toMatchObject({ ...duplicate, domain: "e" });
    await bus.createBatch("d", commands(1), { completion: { ...completion, domain: "other" } });
  });

  it("ends the batch also when a command has taken the completion's id meanwhile", async () => {
    await using t = await setup();
    const bus = openBus(t);
    const commandId = randomUUID();
    const batchId = await bus.createBatch("d", commands(3), {
      completion: { commandType: "Done", commandId },
    });
    await bus.send("d", "T", { commandId, data: "first" });
    await startWorker(t, bus, { T: () => 1 });
    expect(await untilFinished(bus, batchId)).toMatchObject({ status: "COMPLETED", completedCount: 3 });
    expect(await bus.getCommand("d", commandId)).toMatchObject({ commandType: "T", data: "first" });
  });

  it("of a cancelled batch that fails holds up no other", async () => {
    await using t = await setup();
    const bus = openBus(t);
    t.logs.expectLog({
      logger: "commands.batches",
      level: "warn",
      message: "The cancellation of batch * goes on later: error: refused",
    });
    const expiresAt = new Date(Date.now() - 1_000);
    const ids = [];
    for (let n = 0; n < 3; n++) ids.push(await bus.createBatch("d", commands(1), { expiresAt }));
    await t.database.query(
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         IF NEW.completed_at IS NOT NULL AND NEW.batch_id = (TG_ARGV[0])::uuid THEN RAISE EXCEPTION 'refused'; END IF;
         RETURN NEW; END $$`,
    );
    await t.database.query(
      `CREATE TRIGGER refuse BEFORE UPDATE ON tallyman.command_bus_batch FOR EACH ROW EXECUTE FUNCTION refuse('${ids[0]}')`,
    );
    await bus.maintenance.runOnce(10);
    const batches = await Promise.all(ids.map((id) => bus.getBatch("d", id)));
    expect(batches.map((batch) => batch?.canceledCount)).toEqual([0, 1, 1]);
  });
});
