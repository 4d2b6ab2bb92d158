import { expect, it, type MockInstance, vi } from "vitest";
import { Tallyman } from "../app/index.ts";
import type { Database } from "../database/index.ts";
import { deferred } from "../runtime/index.ts";
import { setup, type TestContext } from "../testing/index.ts";
import { createServer } from "./index.ts";

/** A server with one batch, and the address of that batch. */
async function open(t: TestContext) {
  const tallyman = t.use(await Tallyman.connect({ database: t.url }));
  const server = t.use(createServer(tallyman, { port: 0 }));
  await server.start();
  const customData = { iban: "DE00" };
  const batchId = await tallyman.commands.createBatch("d", [{ commandType: "T", data: {} }], { customData });
  return { tallyman, batchId, address: `${server.url}/api/batches/${batchId}` };
}

/** Keeps every statement on batches waiting until the function that it returns is called. */
async function holdBatches(database: Database) {
  const held = deferred();
  const released = deferred();
  const holding = database.transaction(async (tx) => {
    await tx.query("LOCK TABLE tallyman.command_bus_batch");
    held.resolve();
    await released.promise;
  });
  await held.promise;
  return async () => {
    released.resolve();
    await holding;
  };
}

/** Waits until so many calls have had their answer: whoever made them has gone on since. */
async function untilAnswered({ mock }: MockInstance, calls: number): Promise<void> {
  const answered = () => mock.settledResults.filter(({ type }) => type === "fulfilled");
  await vi.waitFor(() => expect(answered()).toHaveLength(calls), { timeout: 20_000 });
}

it("reads twice for ten who ask at once: for the first, and for all who came meanwhile", async () => {
  await using t = await setup();
  const { tallyman, batchId, address } = await open(t);
  const reads = vi.spyOn(tallyman.commands, "findBatch");
  const arrivals = vi.spyOn(tallyman.tokens, "areInUse");
  const release = await holdBatches(t.database);
  const asked = Array.from({ length: 10 }, () => fetch(address));
  await untilAnswered(arrivals, 10);
  await release();
  const answers = await Promise.all(asked.map(async (answer) => (await answer).json()));
  for (const answer of answers) expect(answer).toMatchObject({ success: true, data: { batchId } });
  expect(reads).toHaveBeenCalledTimes(2);
});

it("shares nothing between callers: one may see payloads, the other may not", async () => {
  await using t = await setup();
  const { tallyman, address } = await open(t);
  const create = async (canViewPayloads: boolean) =>
    (await tallyman.tokens.create({ name: "x", role: "read", canViewPayloads, createdBy: "test" })).token;
  const tokens = [await create(true), await create(false), await create(true), await create(false)];
  const arrivals = vi.spyOn(tallyman.tokens, "authenticate");
  const release = await holdBatches(t.database);
  const asked = tokens.map((token) => fetch(address, { headers: { authorization: `Bearer ${token}` } }));
  await untilAnswered(arrivals, 4);
  await release();
  const answers = await Promise.all(asked.map(async (answer) => (await answer).json()));
  const seen = answers.map((answer) => (answer as { data: { customData: unknown } }).data.customData);
  expect(seen).toEqual([{ iban: "DE00" }, "[hidden]", { iban: "DE00" }, "[hidden]"]);
});
