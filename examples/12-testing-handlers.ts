/*
 * Tests of a handler on a real PostgreSQL, each with a database of its own. Here they are plain functions; with vitest
 * or node:test they are the bodies of your tests.
 *
 *   node --import tsx examples/12-testing-handlers.ts
 */
import assert from "node:assert/strict";
import { BusinessRuleError, Tallyman } from "../src/index.ts";
import { setup, type TestContext } from "../src/testing/index.ts";

/** The handler under test. */
async function ship({ data }: { data: unknown }): Promise<{ parcels: number }> {
  const { items } = data as { items: number };
  if (items === 0) throw new BusinessRuleError("there is nothing to ship");
  return { parcels: Math.ceil(items / 10) };
}

/** Sends one command through a real worker and returns what became of it. */
async function outcomeOf(t: TestContext, items: number) {
  const tallyman = t.use(await Tallyman.connect({ database: t.url }));
  const worker = t.use(tallyman.commands.worker({ domain: "shop", handlers: { Ship: ship } }));
  await worker.start();
  const batchId = await tallyman.commands.createBatch("shop", [{ commandType: "Ship", data: { items } }]);
  await tallyman.commands.waitForBatch("shop", batchId);
  const [command] = await tallyman.commands.listBatchCommands("shop", batchId);
  return command;
}

const tests = {
  async "packs ten items into a parcel"(): Promise<void> {
    await using t = await setup();
    const command = await outcomeOf(t, 25);
    assert.deepEqual(command?.result, { parcels: 3 });
  },
  async "refuses an empty order, without a retry"(): Promise<void> {
    await using t = await setup();
    const command = await outcomeOf(t, 0);
    assert.equal(command?.status, "FAILED");
    assert.equal(command?.attempts, 1);
  },
};
for (const [name, test] of Object.entries(tests)) {
  await test();
  console.log(`ok: ${name}`);
}
