import { expect, it } from "vitest";
import { commands, openBus } from "../../tests/kit/commands.ts";
import type { Database } from "../database/index.ts";
import { setup } from "../testing/index.ts";
import { type ClaimedRow, claimCommands } from "./sql/claim.ts";

const request = { domain: "d", limit: 10, leaseMs: 60_000, worker: "w", endedLeases: [] };

function numbers(claimed: readonly ClaimedRow[]): number[] {
  return claimed.map(({ data }) => (data as { n: number }).n).sort((a, b) => a - b);
}

/** Waits until a statement of this database waits for a lock. */
async function untilLockAwaited(database: Database): Promise<void> {
  const waiting = async () => {
    const { rows } = await database.query(
      "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    );
    return rows.length;
  };
  await expect.poll(waiting, { timeout: 20_000 }).toBe(1);
}

it("takes a part of a block, and waits for the rest instead of returning with nothing", async () => {
  await using t = await setup();
  const bus = openBus(t);
  await bus.sendMany("d", commands(30));
  let second: Promise<ClaimedRow[]> = Promise.resolve([]);
  await t.database.transaction(async (tx) => {
    expect(numbers(await claimCommands(tx, request))).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    second = claimCommands(t.database, request);
    await untilLockAwaited(t.database);
  });
  expect(numbers(await second)).toEqual([10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
  expect(await bus.stats()).toMatchObject({ ready: 10, inProgress: 20 });
});

it("leaves out blocks that another claim has locked while there are others", async () => {
  await using t = await setup();
  const bus = openBus(t);
  await bus.sendMany("d", commands(5));
  await bus.sendMany("d", commands(5, { data: { n: 7 } }));
  await t.database.transaction(async (tx) => {
    expect(await claimCommands(tx, { ...request, limit: 1 })).toHaveLength(1);
    expect(numbers(await claimCommands(t.database, request))).toEqual([7, 7, 7, 7, 7]);
  });
});

it("cancels what a claim under way leaves of a block", async () => {
  await using t = await setup();
  const bus = openBus(t);
  const batchId = await bus.createBatch("d", commands(30));
  let canceling: Promise<number> = Promise.resolve(0);
  await t.database.transaction(async (tx) => {
    expect(await claimCommands(tx, request)).toHaveLength(10);
    canceling = bus.cancelBatch("d", batchId, { operator: "mia" });
    await untilLockAwaited(t.database);
  });
  expect(await canceling).toBe(20);
  expect(await bus.getBatch("d", batchId)).toMatchObject({ canceledCount: 20, status: "IN_PROGRESS" });
  expect((await bus.recount()).miscounts).toEqual([]);
});
