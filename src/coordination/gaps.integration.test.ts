import { describe, expect, it } from "vitest";
import type { Database } from "../database/index.ts";
import { deferred } from "../runtime/index.ts";
import { setup } from "../testing/index.ts";
import { accountForTicks, type BatchCoordinatorReady, createBatchCoordinator } from "./index.ts";
import { lockGaps } from "./sql/gaps.ts";

const samplingInterval = 10;

function coordinator(database: Database): BatchCoordinatorReady {
  const created = createBatchCoordinator(database);
  created.setSimulationRun("run-1");
  return created.setIndexerClass("Dummy");
}

const file = (tickStart: number, tickEnd: number, name = `batch_${tickStart}_${tickEnd}.pb`) => ({
  filename: name,
  storageKey: `run-1/raw/${name}`,
  tickStart,
  tickEnd,
  bytes: 1,
  crc: 1,
});

async function know(ready: BatchCoordinatorReady, ...ranges: [number, number][]): Promise<void> {
  await ready.registerFiles(ranges.map(([start, end]) => file(start, end)));
}

async function complete(ready: BatchCoordinatorReady, ...ranges: [number, number][]): Promise<void> {
  await know(ready, ...ranges);
  for (const [start, end] of ranges) {
    await ready.tryClaim(file(start, end).filename, start, end);
    await ready.markCompleted(file(start, end).filename);
  }
}

async function gapsOf(ready: BatchCoordinatorReady): Promise<string[]> {
  return (await ready.listGaps()).map((gap) => `${gap.gapStartTick}-${gap.gapEndTick} ${gap.status}`);
}

/** Makes every gap look that old. */
async function age(database: Database, milliseconds: number): Promise<void> {
  await database
    .forRun("sim_run_1")
    .query("UPDATE sim.coordinator_gaps SET first_detected = first_detected - $1 * interval '1 ms'", [
      milliseconds,
    ]);
}

describe("gaps, walked through", () => {
  it("variable batch sizes on a sampling interval of 10 leave none", async () => {
    await using t = await setup();
    const ready = coordinator(t.database);
    await complete(ready, [0, 990], [1000, 1420], [1430, 2580]);
    expect(await ready.reconcileGaps({ samplingInterval })).toMatchObject({ pending: 0, permanent: 0 });
  });

  it("a batch ahead of its predecessor leaves one in between", async () => {
    await using t = await setup();
    const ready = coordinator(t.database);
    await complete(ready, [0, 990], [1000, 1420], [2000, 2990]);
    await ready.reconcileGaps({ samplingInterval });
    expect(await gapsOf(ready)).toEqual(["1430-1990 pending"]);
  });

  it("a first batch at 1000 leaves one before it, and the late batch fills it", async () => {
    await using t = await setup();
    const ready = coordinator(t.database);
    await complete(ready, [1000, 1990]);
    await ready.reconcileGaps({ samplingInterval });
    expect(await gapsOf(ready)).toEqual(["0-990 pending"]);
    await complete(ready, [2000, 2990]);
    await ready.reconcileGaps({ samplingInterval });
    expect(await gapsOf(ready)).toEqual(["0-990 pending"]);
    await complete(ready, [0, 990]);
    expect(await ready.reconcileGaps({ samplingInterval })).toMatchObject({ closed: 1, pending: 0 });
    expect(ready.getMetrics()).toMatchObject({ gaps_pending: 0, gaps_released: 1 });
  });

  it("a batch in the middle splits one, and the parts keep its age", async () => {
    await using t = await setup();
    const ready = coordinator(t.database);
    await complete(ready, [3000, 3990]);
    await ready.reconcileGaps({ samplingInterval });
    await age(t.database, 5_000);
    const [before] = await ready.listGaps();
    await complete(ready, [1500, 1800]);
    await ready.reconcileGaps({ samplingInterval });
    expect(await gapsOf(ready)).toEqual(["0-1490 pending", "1810-2990 pending"]);
    for (const gap of await ready.listGaps()) expect(gap.firstDetected).toEqual(before?.firstDetected);
  });

  it("splitGap(1009, 2999, 1500, 1800, 10) gives exactly [1009, 1490] and [1810, 2999]", async () => {
    await using t = await setup();
    const ready = coordinator(t.database);
    await ready.recordGap(1009, 2999);
    const [before] = await ready.listGaps();
    await ready.splitGap(1009, 2999, 1500, 1800, 10);
    expect(await gapsOf(ready)).toEqual(["1009-1490 pending", "1810-2999 pending"]);
    for (const gap of await ready.listGaps()) expect(gap.firstDetected).toEqual(before?.firstDetected);
    await ready.splitGap(1009, 2999, 1500, 1800, 10);
    expect(await gapsOf(ready)).toEqual(["1009-1490 pending", "1810-2999 pending"]);
  });

  it("become permanent once, leave the search, and the pipeline goes on", async () => {
    await using t = await setup();
    const ready = coordinator(t.database);
    await complete(ready, [2000, 2990], [3000, 3990]);
    await ready.reconcileGaps({ samplingInterval });
    expect(await ready.isGapOlderThan(0, 60_000)).toBe(false);
    await age(t.database, 60_000);
    expect(await ready.isGapOlderThan(0, 60_000)).toBe(true);
    expect(await ready.markGapPermanent(0)).toBe(true);
    expect(await ready.markGapPermanent(0)).toBe(false);
    expect(await ready.getOldestPendingGap()).toBeNull();
    await complete(ready, [4000, 4990]);
    expect(await ready.reconcileGaps({ samplingInterval })).toMatchObject({ pending: 0, permanent: 1 });
    expect(await gapsOf(ready)).toEqual(["0-1990 permanent"]);
  });
});

describe("gaps, beyond the walk-throughs", () => {
  it("a file that comes after 'permanent' reopens and fills", async () => {
    await using t = await setup();
    const ready = coordinator(t.database);
    await complete(ready, [2000, 2990]);
    await ready.reconcileGaps({ samplingInterval });
    await age(t.database, 60_000);
    await ready.markGapPermanent(0);
    await know(ready, [0, 490]);
    await ready.reconcileGaps({ samplingInterval });
    expect(await gapsOf(ready)).toEqual(["500-1990 pending"]);
    expect(await ready.isGapOlderThan(500, 30_000)).toBe(false);
    await know(ready, [500, 1990]);
    await ready.reconcileGaps({ samplingInterval });
    expect(await gapsOf(ready)).toEqual([]);
  });

  it("a backlog is in flight, never a gap, however old; a failed file is failed", async () => {
    await using t = await setup();
    const ready = coordinator(t.database);
    await know(ready, [0, 990], [1000, 1990], [2000, 2990]);
    await ready.tryClaim(file(1000, 1990).filename, 1000, 1990);
    await ready.markFailed(file(1000, 1990).filename, "bad");
    await ready.reconcileGaps({ samplingInterval });
    expect(await gapsOf(ready)).toEqual([]);
    const account = await accountForTicks(t.database, "run-1", "Dummy", { samplingInterval });
    expect(account).toMatchObject({
      expected: 300,
      unaccounted: 0,
      counts: { in_flight: 200, failed: 100, indexed: 0 },
    });
  });

  it("a missing tail is a gap when the producer declared its end, and only then", async () => {
    await using t = await setup();
    const ready = coordinator(t.database);
    await complete(ready, [0, 990]);
    expect(await ready.reconcileGaps({ samplingInterval })).toMatchObject({ pending: 0 });
    await ready.reconcileGaps({ samplingInterval, declaredEnd: 1990 });
    expect(await gapsOf(ready)).toEqual(["1000-1990 pending"]);
    await ready.reconcileGaps({ samplingInterval, declaredEnd: 2990 });
    expect(await gapsOf(ready)).toEqual(["1000-1990 pending", "2000-2990 pending"]);
  });

  it("overlapping and duplicate files, and ones off the grid, leave no inverted or empty gap", async () => {
    await using t = await setup();
    const ready = coordinator(t.database);
    await know(ready, [0, 990], [500, 1490], [1505, 1990]);
    await ready.registerFiles([file(0, 990), file(0, 990, "copy.pb")]);
    await ready.reconcileGaps({ samplingInterval });
    expect(await gapsOf(ready)).toEqual(["1500-1500 pending"]);
  });

  it("one recorded by hand is kept until a file covers it, and never counted twice", async () => {
    await using t = await setup();
    const ready = coordinator(t.database);
    await know(ready, [0, 990], [2000, 2990]);
    await ready.recordGap(5000, 5990);
    await ready.recordGap(5500, 6990);
    await ready.reconcileGaps({ samplingInterval });
    expect(await gapsOf(ready)).toEqual(["1000-1990 pending", "5000-5990 pending", "6000-6990 pending"]);
    await know(ready, [5000, 6990]);
    await ready.reconcileGaps({ samplingInterval });
    expect(await gapsOf(ready)).toEqual(["1000-1990 pending", "3000-4990 pending"]);
    await expect(ready.recordGap(20, 10)).rejects.toMatchObject({ code: "INVALID_OPTION" });
  });

  it("folding known files away changes nothing but the cost", async () => {
    await using t = await setup();
    const ready = coordinator(t.database);
    const files = Array.from({ length: 3000 }, (_, i) => file(i * 100, i * 100 + 90)).filter(
      (_, i) => i % 500 !== 7,
    );
    await ready.registerFiles(files.toReversed());
    const first = await ready.reconcileGaps({ samplingInterval });
    expect(first).toMatchObject({ pending: 6, unsummarised: files.length });
    expect(await ready.reconcileGaps({ samplingInterval })).toMatchObject({
      pending: 6,
      opened: 0,
      closed: 0,
      unsummarised: 0,
    });
    const { rows } = await t.database.forRun("sim_run_1").query("SELECT count(*) AS n FROM sim.known_ranges");
    expect(rows).toEqual([{ n: 7 }]);
    await know(ready, [700, 790]);
    expect(await ready.reconcileGaps({ samplingInterval })).toMatchObject({ pending: 5, unsummarised: 1 });
  });

  it("a reconciliation that waited for the lock sees what was committed meanwhile", async () => {
    await using t = await setup();
    const ready = coordinator(t.database);
    await complete(ready, [2000, 2990]);
    const other = await t.connect();
    const locked = deferred<void>();
    const mayCommit = deferred<void>();
    const holder = other.forRun("sim_run_1").transaction(async (tx) => {
      await lockGaps(tx, "sim_run_1");
      await tx.query("INSERT INTO sim.batch_files VALUES ('late.pb', 'k', 0, 990, 1, 1)");
      locked.resolve();
      await mayCommit.promise;
    });
    await locked.promise;
    const waiting = ready.reconcileGaps({ samplingInterval });
    // Of this database: the view shows those of the whole server.
    const waiters = async () => {
      const { rowCount } = await t.database.query(
        `SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
      );
      return rowCount;
    };
    await expect.poll(waiters, { timeout: 20_000 }).toBe(1);
    mayCommit.resolve();
    await holder;
    await waiting;
    expect(await gapsOf(ready)).toEqual(["1000-1990 pending"]);
  });

  it("several instances that reconcile at once agree", async () => {
    await using t = await setup();
    const instances = await Promise.all(
      Array.from({ length: 5 }, async () => coordinator(await t.connect({ poolMax: 2 }))),
    );
    await Promise.all(
      instances.map(async (ready, i) => {
        for (let n = i; n < 50; n += 5) {
          if (n % 7 !== 3) await complete(ready, [n * 100, n * 100 + 90]);
          await ready.reconcileGaps({ samplingInterval });
        }
      }),
    );
    const [first] = instances;
    await first?.reconcileGaps({ samplingInterval });
    const expected = Array.from({ length: 50 }, (_, n) => n).filter((n) => n % 7 === 3 && n < 49);
    expect(first && (await gapsOf(first)).map((gap) => Number(gap.split("-")[0]) / 100)).toEqual(expected);
    const account = await accountForTicks(t.database, "run-1", "Dummy", { samplingInterval });
    expect(account.unaccounted).toBe(0);
  });
});
