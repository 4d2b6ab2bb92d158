import { describe, expect, it } from "vitest";
import { type Database, ensureRunSchema } from "../database/index.ts";
import { setup } from "../testing/index.ts";
import { type BatchCoordinatorOptions, type BatchCoordinatorReady, createBatchCoordinator } from "./index.ts";

const first = "batch_0000000000_0000000990.pb";
const second = "batch_0000001000_0000001990.pb";

function coordinator(
  database: Database,
  options: Partial<BatchCoordinatorOptions> = {},
  indexerClass = "Dummy",
): BatchCoordinatorReady {
  const created = createBatchCoordinator(database, options);
  created.setSimulationRun("run-1");
  return created.setIndexerClass(indexerClass);
}

/** Ends the lease of every claim, as time would. */
async function expireAll(database: Database): Promise<void> {
  await database
    .forRun("sim_run_1")
    .query(
      "UPDATE sim.coordinator_batches SET lease_until = clock_timestamp() - interval '1 ms' WHERE status = 'claimed'",
    );
}

async function rowOf(database: Database, filename: string): Promise<Record<string, unknown>> {
  const { rows } = await database
    .forRun("sim_run_1")
    .query("SELECT * FROM sim.coordinator_batches WHERE batch_filename = $1", [filename]);
  return rows[0] ?? {};
}

describe("setIndexerClass", () => {
  it("is called once, with a name, before anything else", async () => {
    await using t = await setup();
    const created = createBatchCoordinator(t.database);
    created.setSimulationRun("run-1");
    const early = created as unknown as BatchCoordinatorReady;
    await expect(early.tryClaim(first, 0, 990)).rejects.toThrow(/call setIndexerClass\(\) first/);
    // @ts-expect-error: the operations are there only after setIndexerClass()
    expect(typeof created.tryClaim).toBe("function");
    expect(() => created.setIndexerClass("")).toThrow(expect.objectContaining({ code: "INVALID_OPTION" }));
    created.setIndexerClass("Dummy");
    expect(() => created.setIndexerClass("Dummy")).toThrow(
      expect.objectContaining({ code: "INVALID_STATE" }),
    );
  });

  it("needs a run", async () => {
    await using t = await setup();
    const ready = createBatchCoordinator(t.database).setIndexerClass("Dummy");
    await expect(ready.tryClaim(first, 0, 990)).rejects.toThrow(/call setSimulationRun\(\) first/);
  });
});

describe("the ledger and the gap map", () => {
  it("have the keys, the checks and the indexes", async () => {
    await using t = await setup();
    const run = t.database.forRun(await ensureRunSchema(t.database, "run-1"));
    const { rows } = await run.query<{ name: string; columns: string }>(
      `SELECT c.relname AS name, string_agg(a.attname, ', ' ORDER BY a.attnum) AS columns
       FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_attribute a ON a.attrelid = c.oid
       WHERE i.indrelid IN ('sim.coordinator_batches'::regclass, 'sim.coordinator_gaps'::regclass)
       GROUP BY c.relname ORDER BY c.relname`,
    );
    expect(rows.map(({ name, columns }) => `${name}: ${columns}`)).toEqual([
      "coordinator_batches_pkey: indexer_class, batch_filename",
      "coordinator_gaps_pkey: indexer_class, gap_start_tick",
      "idx_coordinator_batches_status: status",
      "idx_coordinator_batches_tick_end: indexer_class, tick_end",
      "idx_coordinator_gaps_status: status",
      "idx_coordinator_gaps_tick_range: gap_start_tick, gap_end_tick",
    ]);
    const ready = coordinator(t.database);
    await ready.tryClaim(first, 0, 990);
    await ready.recordGap(1000, 1990);
    for (const table of ["coordinator_batches", "coordinator_gaps"])
      await expect(run.query(`UPDATE sim.${table} SET status = 'done'`)).rejects.toMatchObject({
        code: "23514",
        constraint: "check_status",
      });
  });
});

describe("claims", () => {
  it("are held by one instance; another one is told so", async () => {
    await using t = await setup();
    const [a, b] = [coordinator(t.database), coordinator(t.database)];
    expect(await a.tryClaim(first, 0, 990)).toEqual({
      filename: first,
      claimVersion: 1,
      resumeAt: 0,
      attempts: 1,
    });
    await expect(b.tryClaim(first, 0, 990)).rejects.toMatchObject({
      name: "BatchAlreadyClaimedError",
      batchFilename: first,
    });
    await expect(a.tryClaim(first, 0, 990)).rejects.toMatchObject({ code: "BATCH_ALREADY_CLAIMED" });
    expect(b.getMetrics()).toMatchObject({ claim_attempts: 1, claim_successes: 0, claim_conflicts: 1 });
    expect(b.getMetrics()).toMatchObject({ claims_window_total: 1 });
  });

  it("of different indexer classes do not affect each other", async () => {
    await using t = await setup();
    const classes = ["Dummy", "Environment", "Organism"].map((name) => coordinator(t.database, {}, name));
    for (const ready of classes) await ready.tryClaim(first, 0, 990);
    for (const ready of classes) await ready.markCompleted(first);
    const { rows } = await t.database
      .forRun("sim_run_1")
      .query("SELECT count(*) AS n FROM sim.coordinator_batches WHERE status = 'completed'");
    expect(rows).toEqual([{ n: 3 }]);
  });

  it("are taken for many files in one statement, each by exactly one of those who race", async () => {
    await using t = await setup();
    const batches = Array.from({ length: 1000 }, (_, i) => ({
      filename: `batch_${i}`,
      tickStart: i,
      tickEnd: i,
    }));
    const racers = await Promise.all(
      Array.from({ length: 4 }, async () => coordinator(await t.connect({ poolMax: 2 }))),
    );
    const results = await Promise.all(racers.map((racer) => racer.tryClaimMany(batches)));
    const granted = results.flatMap((result) => result.granted.map((claim) => claim.filename));
    expect(granted).toHaveLength(1000);
    expect(new Set(granted).size).toBe(1000);
    for (const { granted: mine, refused } of results) expect(mine.length + refused.length).toBe(1000);
  });

  it("end many at once, and name one that is not held", async () => {
    await using t = await setup();
    const [a, b] = [coordinator(t.database), coordinator(t.database)];
    await a.tryClaim(first, 0, 990);
    await b.tryClaim(second, 1000, 1990);
    await expect(a.markCompletedMany([first, second])).rejects.toMatchObject({ batchFilename: second });
    expect(await rowOf(t.database, first)).toMatchObject({ status: "completed" });
    expect(await rowOf(t.database, second)).toMatchObject({ status: "claimed" });
    await b.markCompletedMany([second]);
    expect([a, b].map((ready) => ready.getMetrics().batches_completed)).toEqual([1, 1]);
  });

  it("end once: completed stays completed, and only the holder may end one", async () => {
    await using t = await setup();
    const [a, b] = [coordinator(t.database), coordinator(t.database)];
    await a.tryClaim(first, 0, 990);
    await expect(b.markCompleted(first)).rejects.toMatchObject({
      name: "ClaimLostError",
      batchFilename: first,
    });
    await a.markCompleted(first);
    await a.markCompleted(first);
    await expect(a.markFailed(first, "too late")).rejects.toMatchObject({ code: "CLAIM_LOST" });
    await expect(b.tryClaim(first, 0, 990)).rejects.toMatchObject({ details: { status: "completed" } });
    await expect(a.markCompleted(second)).rejects.toThrow(/never claimed/);
    expect(await rowOf(t.database, first)).toMatchObject({ status: "completed", error_message: null });
    expect(a.getMetrics()).toMatchObject({ batches_completed: 1, batches_failed: 0 });
  });

  it("that failed keep their error and are not taken again by themselves", async () => {
    await using t = await setup();
    const [a, b] = [coordinator(t.database), coordinator(t.database)];
    await a.tryClaim(first, 0, 990);
    await a.markFailed(first, "checksum does not match");
    await expireAll(t.database);
    await expect(b.tryClaim(first, 0, 990)).rejects.toMatchObject({ details: { status: "failed" } });
    expect(await b.takeOverExpired(10)).toEqual([]);
    expect(await b.retryFailed({ errorContains: "disk full" })).toEqual([]);
    expect(await b.retryFailed({ errorContains: "checksum", tickStart: 500, tickEnd: 5000 })).toEqual([
      first,
    ]);
    expect(await b.tryClaim(first, 0, 990)).toMatchObject({ claimVersion: 2, attempts: 1 });
    await b.markCompleted(first);
  });

  it("of a dead instance are taken over after the lease, and its late words change nothing", async () => {
    await using t = await setup();
    const [dead, heir] = [coordinator(t.database), coordinator(t.database)];
    await dead.tryClaim(first, 0, 990);
    await dead.tryClaim(second, 1000, 1990);
    expect(await heir.takeOverExpired(10)).toEqual([]);
    await expireAll(t.database);
    expect(await heir.tryClaim(first, 0, 990)).toMatchObject({ claimVersion: 2, attempts: 2 });
    expect(await heir.takeOverExpired(10)).toMatchObject([
      { filename: second, claimVersion: 2, tickStart: 1000 },
    ]);
    await expect(dead.markCompleted(first)).rejects.toMatchObject({ code: "CLAIM_LOST" });
    await expect(dead.markFailed(second, "late")).rejects.toMatchObject({ code: "CLAIM_LOST" });
    expect(await dead.renewClaims()).toEqual([]);
    await heir.markCompleted(first);
    expect(await rowOf(t.database, first)).toMatchObject({
      status: "completed",
      indexer_instance_id: heir.instanceId,
    });
  });

  it("that ran out are not taken over by the instance that holds them", async () => {
    await using t = await setup();
    const own = coordinator(t.database);
    await own.tryClaim(first, 0, 990);
    await expireAll(t.database);
    expect(await own.takeOverExpired(10)).toEqual([]);
    expect(await own.renewClaims()).toEqual([]);
    await own.markCompleted(first);
  });

  it("are renewed past one that a flush has locked, which is not lost", async () => {
    await using t = await setup();
    const own = coordinator(t.database);
    const { claimVersion } = await own.tryClaim(first, 0, 990);
    await own.tryClaim(second, 1000, 1990);
    await expireAll(t.database);
    await t.database.transaction(async (tx) => {
      await own.lockClaims([{ filename: first, claimVersion, from: 0, to: 1, completes: false }], { tx });
      expect(await own.renewClaims()).toEqual([]);
    });
    expect(await coordinator(t.database).takeOverExpired(10)).toMatchObject([{ filename: first }]);
  });

  it("are renewed as long as they are held, and renewal says which are lost", async () => {
    await using t = await setup();
    const [a, b] = [coordinator(t.database, { leaseMs: 60_000 }), coordinator(t.database)];
    await a.tryClaim(first, 0, 990);
    await a.tryClaim(second, 1000, 1990);
    await expireAll(t.database);
    await b.tryClaim(second, 1000, 1990);
    expect(await a.renewClaims()).toEqual([second]);
    await expect(b.tryClaim(first, 0, 990)).rejects.toMatchObject({ code: "BATCH_ALREADY_CLAIMED" });
  });

  it("that are given back are free at once and cost no attempt", async () => {
    await using t = await setup();
    const [a, b] = [coordinator(t.database), coordinator(t.database)];
    await a.tryClaim(first, 0, 990);
    await a.releaseClaims([first]);
    expect(await b.tryClaim(first, 0, 990)).toMatchObject({ claimVersion: 2, attempts: 1 });
    await expect(a.markCompleted(first)).rejects.toMatchObject({ code: "CLAIM_LOST" });
  });

  it("that could not be given back are not renewed, and run out", async () => {
    await using t = await setup();
    const [a, b] = [coordinator(t.database), coordinator(t.database)];
    await a.tryClaim(first, 0, 990);
    const tx = { query: () => Promise.reject(new Error("Connection terminated unexpectedly")) };
    await expect(a.releaseClaims([first], { tx })).rejects.toThrow("terminated");
    await expireAll(t.database);
    expect(await a.renewClaims()).toEqual([]);
    expect(await b.takeOverExpired(10)).toMatchObject([{ filename: first, claimVersion: 2 }]);
  });

  it("join the caller's transaction and its fate", async () => {
    await using t = await setup();
    const ready = coordinator(t.database);
    await ready.tryClaim(first, 0, 990);
    const rolledBack = t.database.transaction(async (tx) => {
      await ready.tryClaim(second, 1000, 1990, { tx });
      await ready.markCompleted(first, { tx });
      throw new Error("no");
    });
    await expect(rolledBack).rejects.toThrow("no");
    expect(await rowOf(t.database, first)).toMatchObject({ status: "claimed" });
    expect(await rowOf(t.database, second)).toEqual({});
  });

  it("are held until a transaction that ends them has committed", async () => {
    await using t = await setup();
    const ready = coordinator(t.database);
    await ready.tryClaim(first, 0, 990);
    await ready.tryClaim(second, 1000, 1990);
    let runs = 0;
    const end = () =>
      t.database.transaction(async (tx) => {
        await ready.markFailed(first, "bad", { tx });
        await ready.markCompletedMany([second], { tx });
        if (++runs === 1) throw new Error("no");
      });
    await expect(end()).rejects.toThrow("no");
    await end();
    expect(await rowOf(t.database, first)).toMatchObject({ status: "failed" });
    expect(await rowOf(t.database, second)).toMatchObject({ status: "completed" });
    ready.settleClaims([first], "failed");
    ready.settleClaims([second]);
    expect(await ready.renewClaims()).toEqual([]);
    expect(ready.getMetrics()).toMatchObject({ batches_failed: 1, batches_completed: 1 });
  });

  it("answer the highest completed tick: -1 without one, and a database error is an error", async () => {
    await using t = await setup();
    const ready = coordinator(t.database);
    expect(await ready.getMaxCompletedTickEnd()).toBe(-1);
    await ready.tryClaim(second, 1000, 1990);
    expect(await ready.getMaxCompletedTickEnd()).toBe(-1);
    await ready.markCompleted(second);
    await ready.tryClaim(first, 0, 990);
    await ready.markCompleted(first);
    expect(await ready.getMaxCompletedTickEnd()).toBe(1990);
    await t.database.query("ALTER TABLE sim_run_1.coordinator_batches RENAME COLUMN tick_end TO renamed");
    await expect(ready.getMaxCompletedTickEnd()).rejects.toThrow(/tick_end/);
    expect(ready.getErrors()).toMatchObject([{ code: "GET_MAX_TICK_END_FAILED" }]);
  });

  it.each([
    ["", 0, 1],
    [first, 990, 0],
    [first, -1, 5],
    [first, 0.5, 5],
  ])("refuse bad input (%j, %s, %s) and change nothing", async (filename, start, end) => {
    await using t = await setup();
    await expect(coordinator(t.database).tryClaim(filename, start, end)).rejects.toMatchObject({
      code: "INVALID_OPTION",
    });
    expect(await coordinator(t.database).listGaps()).toEqual([]);
  });
});

describe("the fence of a flush", () => {
  it("moves the position and completes the file, with the caller's transaction", async () => {
    await using t = await setup();
    const ready = coordinator(t.database);
    const { claimVersion } = await ready.tryClaim(first, 0, 990);
    const flush = (from: number, to: number, completes: boolean) =>
      t.database.transaction(async (tx) => {
        const steps = [{ filename: first, claimVersion, from, to, completes }];
        const mine = await ready.lockClaims(steps, { tx });
        if (mine.length > 0) await ready.advanceClaims(steps, { tx });
        return mine;
      });
    expect(await flush(0, 60, false)).toEqual([first]);
    expect(await flush(0, 60, false)).toEqual([]);
    const again = { filename: first, claimVersion, from: 0, to: 60, completes: false };
    const repeated = t.database.transaction((tx) => ready.advanceClaims([again], { tx }));
    await expect(repeated).rejects.toMatchObject({ code: "CLAIM_LOST" });
    expect(await flush(60, 100, true)).toEqual([first]);
    ready.settleClaims([first]);
    expect(await rowOf(t.database, first)).toMatchObject({ status: "completed", resume_at: 100 });
    expect(await ready.renewClaims()).toEqual([]);
  });

  it("stops a stale holder, whose heir resumes at the committed position", async () => {
    await using t = await setup();
    const [stale, heir] = [coordinator(t.database), coordinator(t.database)];
    const claim = await stale.tryClaim(first, 0, 990);
    const step = { filename: first, claimVersion: claim.claimVersion, from: 0, to: 40, completes: false };
    await t.database.transaction((tx) => stale.advanceClaims([step], { tx }));
    await expireAll(t.database);
    expect(await heir.tryClaim(first, 0, 990)).toMatchObject({ resumeAt: 40, claimVersion: 2 });
    const late = { ...step, from: 40, to: 100, completes: true };
    await t.database.transaction(async (tx) => {
      expect(await stale.lockClaims([late], { tx })).toEqual([]);
    });
    const advance = t.database.transaction((tx) => stale.advanceClaims([late], { tx }));
    await expect(advance).rejects.toMatchObject({ code: "CLAIM_LOST" });
  });

  it("is not taken over while it holds the row, even when its lease has run out", async () => {
    await using t = await setup();
    const [slow, heir] = [coordinator(t.database), coordinator(t.database)];
    const { claimVersion } = await slow.tryClaim(first, 0, 990);
    await expireAll(t.database);
    const step = { filename: first, claimVersion, from: 0, to: 100, completes: true };
    await t.database.transaction(async (tx) => {
      await slow.lockClaims([step], { tx });
      expect(await heir.takeOverExpired(10)).toEqual([]);
      await expect(heir.tryClaim(first, 0, 990)).rejects.toMatchObject({ code: "BATCH_ALREADY_CLAIMED" });
      await slow.advanceClaims([step], { tx });
    });
    expect(await rowOf(t.database, first)).toMatchObject({ status: "completed", claim_version: 1 });
  });
});

describe("a pool of ten", () => {
  it("serves a hundred coordinators, and reading metrics asks the database nothing", async () => {
    await using t = await setup();
    const database = await t.connect({ poolMax: 10 });
    const hundred = Array.from({ length: 100 }, () => coordinator(database));
    await Promise.all(
      hundred.map((ready, i) =>
        ready.tryClaim(`batch_${i}`, i, i).then(() => ready.markCompleted(`batch_${i}`)),
      ),
    );
    expect(database.stats.total).toBeLessThanOrEqual(10);
    const before = database.getMetrics().queries_executed;
    for (const ready of hundred)
      expect(ready.getMetrics()).toMatchObject({ batches_completed: 1, connection_cached: 0 });
    expect(database.getMetrics().queries_executed).toBe(before);
  });
});
