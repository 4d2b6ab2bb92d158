import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { PermanentError } from "../src/commands/index.ts";
import { type Child, setup, type TestContext } from "../src/testing/index.ts";
import { startChild } from "./kit/children.ts";
import { commandLine, flagsTo, json as jsonOfProcess, places } from "./kit/cli.ts";
import { commands, openBus, startWorker } from "./kit/commands.ts";

const nobody = "00000000-0000-4000-8000-000000000000";

/** A file with one command per order, and handlers that fail the even ones. */
async function prepare(t: TestContext, orderIds: readonly number[]) {
  const folder = await t.temporaryFolder();
  const file = join(folder, "commands.ndjson");
  const handlers = join(folder, "handlers.mjs");
  const lines = orderIds.map((orderId) =>
    JSON.stringify({ commandType: "Ship", data: { orderId }, maxAttempts: 1 }),
  );
  await writeFile(file, `${lines.join("\n")}\n\n`);
  await writeFile(
    handlers,
    `export const domain = "orders";
     export const handlers = { Ship: ({ data }) => { if (data.orderId % 2 === 0) throw new Error("order " + data.orderId + " is closed"); } };`,
  );
  const work = () => jsonOfProcess(t.url, "worker", "--handlers", handlers, "--exit-when-idle");
  return { file, work };
}

describe.each(places)("commands from the command line, by way of %s", (place) => {
  it("sends, works, repairs and follows a batch", async () => {
    await using t = await setup();
    const { file, work } = await prepare(t, [1, 2, 3, 4]);
    const { run, json } = commandLine(await flagsTo(place, t));
    const created = await json("batch", "create", "--file", file, "--name", "Evening", "--domain", "orders");
    expect(created).toMatchObject({ domain: "orders", totalCount: 4 });
    const { batchId } = created;
    expect(await json("batch", "list", "--domain", "orders")).toMatchObject([
      { batchId, name: "Evening", status: "PENDING", totalCount: 4 },
    ]);
    const { commandId } = await json("send", "Ship", "--domain", "orders", "--data", '{"orderId": 9}');
    expect(commandId).toMatch(/^[0-9a-f-]{36}$/);
    expect(await work()).toMatchObject({
      domain: "orders",
      metrics: { commands_completed: 3, commands_troubleshooting: 2 },
    });
    const [group] = await json("tsq", "groups");
    expect(group).toMatchObject({ count: 2, errorSignature: "Error: order <n> is closed" });

    expect(await run("tsq", "cancel", "--all", "--domain", "orders")).toMatchObject({
      code: 2,
      text: expect.stringContaining("2 commands match; nothing was changed"),
    });
    expect(await run("tsq", "retry", "--all", "--dry-run")).toMatchObject({
      code: 0,
      text: expect.stringContaining("2 commands match"),
    });
    const [first] = await json("tsq", "list", "--limit", "1");
    await json("tsq", "complete", first.commandId, "--domain", "orders", "--result", '"by hand"');
    expect(await json("tsq", "cancel", "--all", "--domain", "orders", "--yes", "--reason", "closed")).toEqual(
      { matched: 1, changed: 1 },
    );

    const watched = await run("batch", "watch", batchId);
    expect(watched).toMatchObject({ code: 4, text: expect.stringContaining("COMPLETED_WITH_FAILURES") });
    expect(watched.errors).toContain("100%  4/4, 0 failed, 1 canceled");
    expect(await run("batch", "cancel", batchId)).toMatchObject({
      code: 1,
      errors: expect.stringContaining("it is COMPLETED_WITH_FAILURES. [INVALID_STATE]"),
    });
    expect(await json("audit")).toMatchObject([
      { action: "tsq.cancel", changed: 1, reason: "closed", target: { matching: { domain: "orders" } } },
      { action: "tsq.complete", changed: 1, target: { commandIds: [first.commandId] } },
      { action: "command.send", changed: 1, target: { commandId } },
      { action: "batch.create", changed: 4, target: { batchId } },
    ]);
    expect(await json("audit", "--action", "tsq", "--limit", "1")).toMatchObject([{ action: "tsq.cancel" }]);
    expect((await run("audit", "--actor", "nobody")).text).toBe("Nobody did such a thing.");
  });

  it("keeps a batch's own data, adds to it while it is open, seals it, and cancels the rest", async () => {
    await using t = await setup();
    const { file } = await prepare(t, [1, 2]);
    const { run, json } = commandLine(await flagsTo(place, t));
    const { batchId, domain } = await json(
      ...["batch", "create", "--file", file, "--open", "--custom-data", '{"night": true}'],
    );
    expect(domain).toBe("default");
    await json("send", "Ship", "--batch", batchId, "--run-at", "2030-01-31T08:00:00Z", "--priority", "-3");
    expect(await json("batch", "status", batchId)).toMatchObject({
      customData: { night: true },
      isSealed: false,
      totalCount: 3,
    });
    expect(await json("batch", "seal", batchId, "--reason", "all there")).toMatchObject({ isSealed: true });
    expect(await json("batch", "cancel", batchId, "--reason", "not today")).toMatchObject({
      canceled: 3,
      batch: { batchId, canceledCount: 3, status: "COMPLETED_WITH_FAILURES" },
    });
    expect(await json("audit", "--action", "batch", "--limit", "2")).toMatchObject([
      { action: "batch.cancel", reason: "not today" },
      { action: "batch.seal", reason: "all there" },
    ]);
    expect((await run("batch", "status", batchId)).text).toMatch(/status +COMPLETED_WITH_FAILURES/);
  });

  it.each([
    [["batch", "status", nobody], 3, "[BATCH_NOT_FOUND]"],
    [["batch", "status", "nonsense"], 2, "'batchId' must match format"],
    [["batch", "list", "--status", "DONE"], 2, "'status' must be one of PENDING, IN_PROGRESS,"],
    [["batch", "list", "--limit", "5000"], 2, "'limit' must be <= 1000"],
    [["send", "Ship", "--data", "{"], 2, "--data is not JSON"],
    [["send", "Ship", "--run-at", "tomorrow"], 2, "--run-at must be a time"],
    [["send", "Ship", "--batch", nobody], 3, "[BATCH_NOT_FOUND]"],
    [["tsq", "retry", nobody], 3, "[COMMAND_NOT_FOUND]"],
    [["tsq", "retry"], 2, "not both, not neither"],
    [["tsq", "retry", nobody, "--type", "Ship"], 2, "go with --all"],
    [["tsq", "retry", nobody, "--dry-run"], 3, "[COMMAND_NOT_FOUND]"],
  ])("refuses %j with exit code %i", async (args, exit, text) => {
    await using t = await setup();
    const { run, json } = commandLine(await flagsTo(place, t));
    expect(await run(...args)).toMatchObject({ code: exit, errors: expect.stringContaining(text) });
    expect(await json("audit")).toEqual([]);
  });

  it.each([
    ['{"commandType": "Ship"}\nnot JSON', "commands.ndjson:2 is not JSON"],
    ['{"commandType": "Ship"}\n{"data": 1}', "commands.ndjson:2 has no commandType"],
    ['{"commandType": "Ship", "domain": "a"}\n{"commandType": "Ship", "domain": "b"}', "names domain 'b'"],
    ['{"commandType": "Ship", "runAt": "soon"}', "Item 1: Field 'runAt' must match format"],
    ["", "[BATCH_EMPTY]"],
  ])("creates nothing from a file like %j", async (content, text) => {
    await using t = await setup();
    const file = join(await t.temporaryFolder(), "commands.ndjson");
    await writeFile(file, content);
    const { run, json } = commandLine(await flagsTo(place, t));
    const refused = await run("batch", "create", "--file", file);
    expect(refused).toMatchObject({ code: 2, errors: expect.stringContaining(text) });
    expect(await json("batch", "list")).toEqual([]);
  });

  it("tells that a file is not there", async () => {
    await using t = await setup();
    const { run } = commandLine(await flagsTo(place, t));
    const refused = await run("batch", "create", "--file", "nowhere.ndjson");
    expect(refused).toMatchObject({
      code: 2,
      errors: expect.stringContaining("nowhere.ndjson can't be read"),
    });
  });
});

describe("tallyman worker --exit-when-idle", () => {
  const later = new Date(Date.now() + 3_600_000);

  async function startIdleWorker(t: TestContext): Promise<Child> {
    const handlers = join(await t.temporaryFolder(), "handlers.mjs");
    await writeFile(handlers, "export const handlers = { T: () => {} };");
    const args = ["worker", "--handlers", handlers, "--domain", "d", "--exit-when-idle"];
    const main = new URL("../src/cli/main.ts", import.meta.url);
    return t.use(startChild(main, { args, env: { DATABASE_URL: t.url } }));
  }

  it("ends when its domain has nothing left, whatever others wait for", async () => {
    await using t = await setup();
    const bus = openBus(t);
    await bus.send("other", "T", { data: 1, runAt: later });
    await bus.send("d", "T", { data: 1 });
    const child = await startIdleWorker(t);
    expect(await child.exit, child.errorOutput).toEqual({ code: 0, signal: null });
    expect(child.lines).toEqual(["1 completed, 0 moved to the troubleshooting queue."]);
  });

  it.each(["SIGTERM", "SIGHUP"] as const)("ends by %s while something waits for its time", async (signal) => {
    await using t = await setup();
    const bus = openBus(t);
    await bus.send("d", "T", { data: 1, runAt: later });
    const first = await bus.send("d", "T", { data: 1 });
    const child = await startIdleWorker(t);
    await expect
      .poll(async () => (await bus.getCommand("d", first))?.status, { timeout: 30_000 })
      .toBe("COMPLETED");
    child.kill(signal);
    expect(await child.exit, child.errorOutput).toEqual({ code: 0, signal: null });
  });
});

it("an action on all takes as many calls as it needs, and each has its row in the audit", async () => {
  await using t = await setup();
  const count = 10_005;
  const bus = openBus(t);
  await bus.createBatch("d", commands(count, { maxAttempts: 1 }));
  const fail = () => {
    throw new PermanentError("the gateway is down");
  };
  await startWorker(t, bus, { T: fail }, { concurrency: 200 });
  await expect.poll(() => bus.tsq.count(), { timeout: 60_000 }).toBe(count);
  const { run, json } = commandLine(await flagsTo("a server", t));
  const done = await run("tsq", "cancel", "--all", "--yes");
  expect(done).toMatchObject({ code: 0, text: `${count} commands match, ${count} cancelled.` });
  expect(done.errors).toContain(`${count} of ${count} cancelled`);
  expect(await json("audit")).toMatchObject([{ changed: 5 }, { changed: 10_000 }]);
}, 120_000);
