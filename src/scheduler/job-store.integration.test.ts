import pg from "pg";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { command, openJobs } from "../../tests/kit/jobs.ts";
import { CommandBus } from "../commands/index.ts";
import { setup } from "../testing/index.ts";
import { Fleet, JobStore } from "./index.ts";

describe("JobStore", () => {
  it("stores a job with its defaults, in the segment of its key", async () => {
    await using t = await setup();
    const { jobs } = openJobs(t);
    const job = await jobs.create("nightly", {
      schedule: { cron: "30 2 * * *", timeZone: "Europe/Berlin" },
      command,
    });
    expect(job).toMatchObject({
      key: "nightly",
      status: "SCHEDULED",
      schedule: { cron: "30 2 * * *", timeZone: "Europe/Berlin" },
      target: "COMMAND",
      domain: "d",
      commandCount: 1,
      misfirePolicy: "FIRE_ONCE",
      overlapPolicy: "ALLOW",
      enabled: true,
      fireCount: 0,
    });
    expect(job.segmentId).toBeGreaterThanOrEqual(0);
    expect(job.segmentId).toBeLessThan(100);
    expect(job.nextFireAt?.getTime()).toBeGreaterThan(Date.now());
    expect(await jobs.payload("nightly")).toEqual([{ commandType: "T", data: { n: 1 } }]);
    expect(await jobs.get("nobody")).toBeNull();
  });

  it("counts an interval from its start, and lists the next times", async () => {
    await using t = await setup();
    const { jobs } = openJobs(t);
    const startAt = new Date(Date.now() + 3_600_000);
    const endAt = new Date(startAt.getTime() + 150_000);
    await jobs.create("a", { schedule: { everyMs: 60_000 }, startAt, endAt, command });
    const at = (n: number) => new Date(startAt.getTime() + n * 60_000);
    expect(await jobs.nextFireTimes("a", 10)).toEqual([at(0), at(1), at(2)]);
    await jobs.create("b", { schedule: { everyMs: 60_000 }, startAt, maxFires: 2, command });
    expect(await jobs.nextFireTimes("b", 10)).toEqual([at(0), at(1)]);
    await expect(jobs.nextFireTimes("b", 0)).rejects.toMatchObject({ code: "INVALID_OPTION" });
  });

  const tooMany = Array.from({ length: 1_001 }, () => ({ commandType: "T" }));
  const hourly = { cron: "0 * * * *" };
  const refused: readonly (readonly [what: string, definition: object, code: string])[] = [
    ["no schedule", { command }, "INVALID_OPTION"],
    ["an empty schedule", { schedule: {}, command }, "JOB_INVALID"],
    ["two schedules", { schedule: { everyMs: 1_000, cron: "* * * * *" }, command }, "JOB_INVALID"],
    ["an unknown field", { schedule: { every: 1_000 }, command }, "JOB_INVALID"],
    ["a bad pattern", { schedule: { cron: "61 * * * *" }, command }, "JOB_INVALID"],
    [
      "an unknown zone",
      { schedule: { cron: "0 * * * *", timeZone: "Mars/Olympus" }, command },
      "JOB_INVALID",
    ],
    ["a zone without cron", { schedule: { everyMs: 1_000, timeZone: "UTC" }, command }, "JOB_INVALID"],
    ["30 February", { schedule: { cron: "0 0 30 2 *" }, command }, "JOB_INVALID"],
    ["a short interval", { schedule: { everyMs: 10 }, command }, "JOB_INVALID"],
    ["an invalid date", { schedule: { at: new Date("x") }, command }, "JOB_INVALID"],
    ["wide jitter", { schedule: { everyMs: 1_000 }, jitterMs: 1_000, command }, "JOB_INVALID"],
    ["neither command nor batch", { schedule: hourly }, "JOB_INVALID"],
    [
      "command and batch",
      { schedule: hourly, command, batch: { domain: "d", commands: [command] } },
      "JOB_INVALID",
    ],
    ["an empty batch", { schedule: hourly, batch: { domain: "d", commands: [] } }, "JOB_INVALID"],
    [
      "a thousand and one commands",
      { schedule: hourly, batch: { domain: "d", commands: tooMany } },
      "JOB_INVALID",
    ],
    ["a fixed id", { schedule: hourly, command: { ...command, commandId: "x" } }, "JOB_INVALID"],
    ["a fixed time", { schedule: hourly, command: { ...command, runAt: new Date() } }, "JOB_INVALID"],
    ["data that is no JSON", { schedule: hourly, command: { ...command, data: () => 1 } }, "COMMAND_INVALID"],
    ["large data", { schedule: hourly, command: { ...command, data: "x".repeat(2e6) } }, "COMMAND_TOO_LARGE"],
    ["no domain", { schedule: hourly, command: { commandType: "T" } }, "COMMAND_INVALID"],
    [
      "a fire field in an array",
      { schedule: hourly, fireField: "f", command: { ...command, data: [] } },
      "JOB_INVALID",
    ],
    ["an unknown option", { schedule: hourly, command, jitter: 5 }, "INVALID_OPTION"],
    ["no fires", { schedule: hourly, command, maxFires: 0 }, "INVALID_OPTION"],
    [
      "an end before the start",
      { schedule: hourly, command, startAt: new Date(2e12), endAt: new Date(1e12) },
      "INVALID_OPTION",
    ],
    ["an end in the past", { schedule: hourly, command, endAt: new Date(1e12) }, "JOB_INVALID"],
  ];

  it("refuses bad input with a stable code, and changes nothing", async () => {
    await using t = await setup();
    const { jobs } = openJobs(t);
    const good = { key: "good", schedule: hourly, command };
    for (const [what, definition, code] of refused) {
      const bad = { key: "k", ...definition } as never;
      await expect(jobs.create("k", definition as never), what).rejects.toMatchObject({ code });
      await expect(jobs.createMany([good, bad]), what).rejects.toMatchObject({ code });
    }
    for (const key of ["", " a", "a ", "x".repeat(256), "a\0"]) {
      await expect(jobs.create(key, { schedule: hourly, command })).rejects.toMatchObject({
        code: "JOB_INVALID",
      });
    }
    expect(await jobs.list()).toEqual([]);
  });

  it("checks the payload against the schema of its type", async () => {
    await using t = await setup();
    const { bus, jobs } = openJobs(t);
    bus.register("d", "T", z.object({ n: z.number() }));
    await expect(
      jobs.create("k", { schedule: hourly, command: { ...command, data: { n: "one" } } }),
    ).rejects.toMatchObject({ code: "COMMAND_INVALID" });
  });

  it("refuses a key that exists, and two of one call", async () => {
    await using t = await setup();
    const { jobs } = openJobs(t);
    const job = { key: "k", schedule: hourly, command };
    await expect(jobs.createMany([job, job])).rejects.toMatchObject({ code: "JOB_INVALID" });
    await jobs.createMany([job]);
    await expect(jobs.create("k", { schedule: hourly, command })).rejects.toMatchObject({
      code: "JOB_EXISTS",
      details: { key: "k" },
    });
  });

  it("updates what is named, keeps the rest, and never goes back behind the last fire", async () => {
    await using t = await setup();
    const { jobs } = openJobs(t);
    const before = await jobs.create("k", { schedule: { everyMs: 60_000 }, command, jitterMs: 500 });
    const same = await jobs.update("k", {
      jitterMs: 0,
      maxFires: 5,
      endAt: new Date(before.createdAt.getTime() + 9e6),
    });
    expect(same).toMatchObject({ schedule: { everyMs: 60_000 }, jitterMs: 0, maxFires: 5 });
    expect(await jobs.update("k", { maxFires: null, endAt: null })).toMatchObject({
      maxFires: null,
      endAt: null,
    });
    expect(await jobs.payload("k")).toEqual([{ commandType: "T", data: { n: 1 } }]);
    const future = new Date(Date.now() + 5 * 86_400_000);
    await t.database.query("UPDATE tallyman.scheduler_job_state SET last_fire_at = $1", [future]);
    const changed = await jobs.update("k", { schedule: { everyMs: 1_000 } });
    expect(changed.nextFireAt?.getTime()).toBeGreaterThan(future.getTime());
    const batch = await jobs.update("k", {
      batch: { domain: "e", name: "B", commands: [{ commandType: "A" }] },
    });
    expect(batch).toMatchObject({ target: "BATCH", domain: "e", batchName: "B" });
    await expect(jobs.update("k", { schedule: { cron: "nonsense" } })).rejects.toMatchObject({
      code: "JOB_INVALID",
    });
    await expect(jobs.update("nobody", {})).rejects.toMatchObject({ code: "JOB_NOT_FOUND" });
    expect(await jobs.get("k")).toEqual(batch);
  });

  it("pauses, resumes, disables and removes", async () => {
    await using t = await setup();
    const { jobs } = openJobs(t);
    await jobs.create("k", { schedule: hourly, command });
    await jobs.pause("k");
    await jobs.pause("k");
    expect(await jobs.get("k")).toMatchObject({ status: "PAUSED" });
    expect(await jobs.list({ status: "PAUSED" })).toHaveLength(1);
    await jobs.update("k", { jitterMs: 7 });
    expect(await jobs.get("k")).toMatchObject({ status: "PAUSED" });
    await jobs.resume("k");
    expect(await jobs.get("k")).toMatchObject({ status: "SCHEDULED", pausedAt: null });
    await jobs.update("k", { enabled: false });
    expect(await jobs.get("k")).toMatchObject({ status: "DISABLED" });
    await jobs.resume("k");
    const { rows } = await t.database.query("SELECT due_at FROM tallyman.scheduler_job_state");
    expect(rows).toEqual([{ due_at: null }]);
    await jobs.run("k");
    await jobs.remove("k");
    expect(await jobs.get("k")).toBeNull();
    expect((await t.database.query("SELECT FROM tallyman.scheduler_fire")).rowCount).toBe(0);
    for (const operation of ["pause", "resume", "remove", "run", "history", "payload"] as const) {
      await expect(jobs[operation]("k")).rejects.toMatchObject({ code: "JOB_NOT_FOUND" });
    }
  });

  it("runs by hand, beside the schedule, and keeps a history in pages", async () => {
    await using t = await setup();
    const { bus, jobs } = openJobs(t);
    const { nextFireAt } = await jobs.create("k", { schedule: hourly, command, fireField: "fire" });
    const runs = [];
    for (let i = 0; i < 5; i++) runs.push(await jobs.run("k"));
    const { runId, fireTime } = runs[0] ?? { runId: "", fireTime: new Date() };
    expect(await bus.getCommand("d", runId)).toMatchObject({
      commandType: "T",
      data: { n: 1, fire: { jobKey: "k", fireTime: fireTime.toISOString() } },
    });
    const all = await jobs.history("k");
    expect(all.map((fire) => fire.runId)).toEqual(runs.map((run) => run.runId).toReversed());
    expect(all[0]).toMatchObject({ outcome: "FIRED", isManual: true });
    const first = await jobs.history("k", { limit: 2 });
    const second = await jobs.history("k", { limit: 3, cursor: first[1]?.cursor });
    expect([...first, ...second]).toEqual(all);
    await expect(jobs.history("k", { cursor: "x" })).rejects.toMatchObject({ code: "INVALID_OPTION" });
    expect(await jobs.get("k")).toMatchObject({ fireCount: 0, nextFireAt });
  });

  it("runs a batch job as a batch", async () => {
    await using t = await setup();
    const { bus, jobs } = openJobs(t);
    const commands = Array.from({ length: 1_000 }, (_, n) => ({ commandType: "T", data: { n } }));
    await jobs.create("k", { schedule: hourly, batch: { domain: "d", name: "Hourly", commands } });
    const { runId, fireTime } = await jobs.run("k");
    expect(await bus.getBatch("d", runId)).toMatchObject({
      name: "Hourly",
      totalCount: 1_000,
      isSealed: true,
      customData: { jobKey: "k", fireTime: fireTime.toISOString() },
    });
    expect((await bus.recount()).miscounts).toEqual([]);
    expect(await bus.listBatchCommands("d", runId, { limit: 1 })).toMatchObject([{ data: { n: 0 } }]);
  });

  it("lists in pages of keys", async () => {
    await using t = await setup();
    const { jobs } = openJobs(t);
    const keys = ["a", "b", "c", "d", "e"];
    await jobs.createMany(keys.map((key) => ({ key, schedule: hourly, command })));
    const first = await jobs.list({ limit: 3 });
    const second = await jobs.list({ limit: 3, cursor: first.at(-1)?.key });
    expect([...first, ...second].map(({ key }) => key)).toEqual(keys);
    await expect(jobs.list({ limit: 0 })).rejects.toMatchObject({ code: "INVALID_OPTION" });
    await expect(jobs.list({ status: "DONE" as never })).rejects.toMatchObject({ code: "INVALID_OPTION" });
  });

  it("writes in the caller's transaction: all of it or nothing", async () => {
    await using t = await setup();
    const { bus, jobs } = openJobs(t);
    const client = new pg.Client(t.url);
    await client.connect();
    try {
      for (const end of ["ROLLBACK", "COMMIT"]) {
        await client.query("BEGIN");
        await jobs.create("k", { schedule: { everyMs: 60_000 }, command }, { tx: client });
        await jobs.update("k", { maxFires: 3 }, { tx: client });
        await jobs.pause("k", { tx: client });
        await jobs.resume("k", { tx: client });
        const run = await jobs.run("k", { tx: client });
        await client.query(end);
        expect(await jobs.get("k")).toEqual(
          end === "COMMIT" ? expect.objectContaining({ maxFires: 3, fireCount: 0 }) : null,
        );
        expect((await bus.getCommand("d", run.runId)) !== null).toBe(end === "COMMIT");
      }
      await client.query("BEGIN");
      await jobs.remove("k", { tx: client });
      await client.query("ROLLBACK");
      expect(await jobs.get("k")).not.toBeNull();
    } finally {
      await client.end();
    }
  });

  it("needs no connection beside the caller's transaction", async () => {
    await using t = await setup();
    const database = await t.connect({ poolMax: 1, acquireTimeoutMs: 5_000 });
    const bus = t.use(new CommandBus(database));
    const jobs = new JobStore(database, bus);
    await database.transaction(async (tx) => {
      await jobs.create("k", { schedule: hourly, command }, { tx });
      await jobs.update("k", { maxFires: 3 }, { tx });
      await jobs.run("k", { tx });
    });
    expect(await jobs.get("k")).toMatchObject({ maxFires: 3 });
    await database.transaction((tx) => jobs.remove("k", { tx }));
    expect(await jobs.get("k")).toBeNull();
  });

  it("removes a job after whoever is changing it, with all of its history", async () => {
    await using t = await setup();
    const { jobs } = openJobs(t);
    await jobs.create("k", { schedule: hourly, command });
    let removing: Promise<void> | undefined;
    await t.database.transaction(async (tx) => {
      await jobs.run("k", { tx });
      removing = jobs.remove("k");
      await expect.poll(() => waiting(t.database), { timeout: 20_000 }).toBe(1);
      await jobs.update("k", { maxFires: 3 }, { tx });
    });
    await removing;
    expect(await jobs.get("k")).toBeNull();
    expect((await t.database.query("SELECT FROM tallyman.scheduler_fire")).rowCount).toBe(0);
  });

  it("moves jobs when the number of segments changes, those created meanwhile too", async () => {
    await using t = await setup();
    const { jobs } = openJobs(t);
    const list = Array.from({ length: 200 }, (_, i) => ({ key: `job-${i}`, schedule: hourly, command }));
    await jobs.createMany(list);
    let late: Promise<unknown> | undefined;
    await new Fleet(t.database).setSegmentCount(7, {
      remap: async (tx, count) => {
        late = jobs.create("late", { schedule: hourly, command });
        await expect.poll(() => waiting(t.database), { timeout: 20_000 }).toBe(1);
        await jobs.remap(tx, count);
      },
    });
    await late;
    const { rows } = await t.database.query(
      `SELECT count(*)::int AS n FROM tallyman.scheduler_job_state s JOIN tallyman.scheduler_job j USING (job_id)
       WHERE s.segment_id = tallyman.scheduler_segment_of(j.job_key, 7)`,
    );
    expect(rows).toEqual([{ n: 201 }]);
  });
});

async function waiting(database: { query: typeof import("../database/index.ts").Database.prototype.query }) {
  const { rows } = await database.query<{ n: number }>(
    "SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
  );
  return rows[0]?.n;
}
