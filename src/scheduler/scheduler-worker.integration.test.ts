import { describe, expect, it } from "vitest";
import {
  accountForFires,
  age,
  command,
  grant,
  openJobs,
  startCoordinator,
  startSchedulerWorker,
} from "../../tests/kit/jobs.ts";
import { deferred } from "../runtime/index.ts";
import { FakeClock, setup, type TestContext } from "../testing/index.ts";
import { schedulerChannels } from "./hints.ts";
import { Fleet, SchedulerWorker } from "./index.ts";

const untilPoll = { timeout: 20_000, interval: 10 };

/** A worker that owns every segment without a coordinator. */
async function soleWorker(t: TestContext, bus: ReturnType<typeof openJobs>["bus"], options = {}) {
  const worker = await startSchedulerWorker(t, bus, { workerId: "w1", ...options });
  await grant(t.database, "w1");
  return worker;
}

async function fireCount(t: TestContext): Promise<number> {
  const { rows } = await t.database.query<{ n: number }>(
    "SELECT count(*)::int AS n FROM tallyman.scheduler_fire WHERE outcome = 'FIRED'",
  );
  return rows[0]?.n ?? 0;
}

describe("SchedulerWorker", () => {
  it("fires jobs as commands and batches, exactly once each", async () => {
    await using t = await setup();
    const { bus, jobs } = openJobs(t);
    await jobs.create("once", { schedule: { at: new Date(Date.now() - 5_000) }, command, fireField: "fire" });
    await jobs.create("interval", {
      schedule: { everyMs: 3_600_000 },
      startAt: new Date(Date.now() - 1),
      command,
    });
    const commands = [{ commandType: "A" }, { commandType: "B" }];
    await jobs.create("batch", { schedule: { at: new Date() }, batch: { domain: "d", commands } });
    const worker = await soleWorker(t, bus);
    await expect.poll(() => fireCount(t), untilPoll).toBe(2);
    await worker.stop();
    expect(await accountForFires(t.database)).toBe(2);
    expect(await jobs.get("once")).toMatchObject({ status: "FINISHED", fireCount: 1, nextFireAt: null });
    const [fire] = await jobs.history("batch");
    expect(await bus.getBatch("d", fire?.runId ?? "")).toMatchObject({ totalCount: 2 });
    expect(worker.getMetrics()).toMatchObject({ jobs_fired: 2, jobs_parked: 0, segments_held: 0 });
  });

  it("fires a job that is created while it sleeps, by the hint", async () => {
    await using t = await setup();
    const { bus, jobs } = openJobs(t);
    await soleWorker(t, bus, { pollIntervalMs: 600_000 });
    await expect.poll(() => t.database.listener.isConnected, untilPoll).toBe(true);
    await jobs.create("k", { schedule: { at: new Date() }, command });
    await expect.poll(() => fireCount(t), untilPoll).toBe(1);
  });

  it("follows every time of a fast job and keeps the account", async () => {
    await using t = await setup();
    const { bus, jobs } = openJobs(t);
    await jobs.create("fast", {
      schedule: { everyMs: 100 },
      command,
      maxFires: 12,
      misfirePolicy: "FIRE_ALL",
    });
    await jobs.create("jitter", {
      schedule: { everyMs: 200 },
      command,
      jitterMs: 150,
      maxFires: 6,
      misfirePolicy: "FIRE_ALL",
    });
    const worker = await soleWorker(t, bus);
    await expect.poll(async () => (await jobs.list({ status: "FINISHED" })).length, untilPoll).toBe(2);
    await worker.stop();
    const [fast, jitter] = [await jobs.history("fast"), await jobs.history("jitter")];
    expect([fast.length, jitter.length]).toEqual([12, 6]);
    expect(jitter.some(({ firedAt, fireTime }) => firedAt.getTime() - fireTime.getTime() > 20)).toBe(true);
  });

  it("treats what was missed as each policy says, with a record of every time", async () => {
    await using t = await setup();
    const { bus, jobs } = openJobs(t);
    const schedule = { everyMs: 3_600_000 };
    await jobs.create("skip", { schedule, command, misfirePolicy: "SKIP" });
    await jobs.create("once", { schedule, command });
    await jobs.create("all", { schedule, command, misfirePolicy: "FIRE_ALL" });
    await jobs.create("window", { schedule, command, misfirePolicy: "FIRE_ALL", catchUpWindowMs: 9_000_000 });
    await age(t.database, "10 hours 30 minutes");
    const worker = await soleWorker(t, bus);
    await expect
      .poll(() => worker.getMetrics(), untilPoll)
      .toMatchObject({ jobs_fired: 1 + 10 + 2, jobs_missed: 3 });
    await worker.stop();
    expect(await accountForFires(t.database)).toBe(13);
    expect(await jobs.history("skip")).toMatchObject([{ outcome: "MISSED", runId: null }]);
    expect(await jobs.history("once")).toMatchObject([{ outcome: "FIRED" }, { outcome: "MISSED" }]);
    expect(await jobs.history("all")).toHaveLength(10);
    expect(await jobs.history("window")).toHaveLength(3);
  });

  it("skips a fire while the last one's command or batch has not ended", async () => {
    await using t = await setup();
    const { bus, jobs } = openJobs(t);
    const schedule = { everyMs: 3_600_000 };
    const policy = { misfirePolicy: "FIRE_ALL", overlapPolicy: "SKIP" } as const;
    await jobs.create("command", { schedule, command, ...policy, maxFires: 2 });
    await jobs.create("batch", { schedule, batch: { domain: "d", commands: [command] }, ...policy });
    await age(t.database, "2 hours 30 minutes");
    const scheduler = await soleWorker(t, bus);
    await expect
      .poll(() => scheduler.getMetrics(), untilPoll)
      .toMatchObject({ jobs_fired: 2, jobs_overlapped: 2 });
    const handled = t.use(bus.worker({ domain: "d", handlers: { T: () => undefined } }));
    await handled.start();
    await expect
      .poll(async () => (await bus.stats()).ready + (await bus.stats()).inProgress, untilPoll)
      .toBe(0);
    await age(t.database, "31 minutes");
    await expect
      .poll(() => scheduler.getMetrics(), untilPoll)
      .toMatchObject({ jobs_fired: 4, jobs_overlapped: 2 });
    await scheduler.stop();
    expect(await jobs.get("command")).toMatchObject({ status: "FINISHED", fireCount: 2 });
    expect((await jobs.history("batch")).map(({ outcome }) => outcome)).toEqual([
      "FIRED",
      "OVERLAP",
      "FIRED",
    ]);
  });

  it("parks a job that breaks the bulk, with its error, and fires the rest", async () => {
    await using t = await setup();
    t.logs.expectLog({
      logger: "scheduler.worker",
      level: "warn",
      message: "Job * could not be fired and is parked: *",
    });
    t.logs.expectLog({
      logger: "scheduler.worker",
      level: "warn",
      message: "Job * could not be fired and is parked: *",
    });
    const { bus, jobs } = openJobs(t);
    const at = new Date(Date.now() - 1_000);
    const list = Array.from({ length: 100 }, (_, i) => ({ key: `job-${i}`, schedule: { at }, command }));
    await jobs.createMany(list);
    await t.database.query(
      "UPDATE tallyman.scheduler_job SET commands = ARRAY['{broken'] WHERE job_key IN ('job-13', 'job-77')",
    );
    const worker = await soleWorker(t, bus);
    await expect.poll(() => worker.getMetrics(), untilPoll).toMatchObject({ jobs_fired: 98, jobs_parked: 2 });
    const parked = await jobs.list({ status: "PARKED" });
    expect(parked.map(({ key }) => key)).toEqual(["job-13", "job-77"]);
    expect(parked[0]).toMatchObject({ errorCode: "22P02", nextFireAt: at });
    expect(worker.getErrors()).toHaveLength(2);
    await jobs.update("job-13", { command });
    await expect.poll(() => fireCount(t), untilPoll).toBe(99);
    expect(await jobs.get("job-13")).toMatchObject({ status: "FINISHED", errorCode: null });
    await worker.stop();
    await jobs.remove("job-77");
    expect(await accountForFires(t.database)).toBe(99);
  });

  it("parks jobs whose times it can't tell, with the reason, and fires the rest", async () => {
    await using t = await setup();
    for (const fault of ["*Mars/Olympus*", "*nonsense*"])
      t.logs.expectLog({
        logger: "scheduler.worker",
        level: "warn",
        message: `Job * could not be fired and is parked: ${fault}`,
      });
    const { bus, jobs } = openJobs(t);
    // Half an hour from now: no time of it comes while the test runs.
    const cron = `${(new Date().getUTCMinutes() + 30) % 60} * * * *`;
    for (const key of ["zone", "pattern", "good"]) await jobs.create(key, { schedule: { cron }, command });
    await t.database.query(
      "UPDATE tallyman.scheduler_job SET time_zone = 'Mars/Olympus' WHERE job_key = 'zone'",
    );
    await t.database.query("UPDATE tallyman.scheduler_job SET cron = 'nonsense' WHERE job_key = 'pattern'");
    await age(t.database, "1 hour");
    const worker = await soleWorker(t, bus);
    await expect.poll(() => worker.getMetrics(), untilPoll).toMatchObject({ jobs_fired: 1, jobs_parked: 2 });
    expect(worker.isHealthy()).toBe(true);
    expect(await jobs.get("good")).toMatchObject({ status: "SCHEDULED", fireCount: 1 });
    expect(await jobs.get("zone")).toMatchObject({
      status: "PARKED",
      errorCode: "JOB_INVALID",
      errorMessage: expect.stringContaining("Mars/Olympus"),
    });
    await jobs.update("zone", { schedule: { cron } });
    expect(await jobs.get("zone")).toMatchObject({ status: "SCHEDULED", errorCode: null });
  });

  it("fires nothing of a segment that it gave back, and another worker goes on at once", async () => {
    await using t = await setup();
    const { bus, jobs } = openJobs(t);
    await startCoordinator(t);
    const list = Array.from({ length: 50 }, (_, i) => ({
      key: `job-${i}`,
      schedule: { everyMs: 100 },
      command,
      misfirePolicy: "FIRE_ALL" as const,
    }));
    await jobs.createMany(list);
    const first = await startSchedulerWorker(t, bus);
    await expect.poll(() => first.segments.length, untilPoll).toBe(100);
    const second = await startSchedulerWorker(t, bus);
    await expect.poll(() => [first.segments.length, second.segments.length], untilPoll).toEqual([50, 50]);
    await expect.poll(() => second.getMetrics().jobs_fired, untilPoll).toBeGreaterThan(50);
    await first.stop();
    await expect.poll(() => second.segments.length, untilPoll).toBe(100);
    const { jobs_fired: before = 0 } = second.getMetrics();
    await expect.poll(() => second.getMetrics().jobs_fired, untilPoll).toBeGreaterThan(before + 50);
    await second.stop();
    await accountForFires(t.database);
    expect((await new Fleet(t.database).listWorkers()).map(({ status }) => status)).toEqual([
      "OFFLINE",
      "OFFLINE",
    ]);
  });

  it("trusts its grants no longer than its own clock allows when heartbeats stay away, and looks again after the next", async () => {
    await using t = await setup();
    const { bus, jobs } = openJobs(t);
    const clock = new FakeClock();
    const options = { workerId: "w1", clock, pollIntervalMs: 1_000_000_000 };
    const worker = t.use(new SchedulerWorker(t.database, bus, options));
    await new Fleet(t.database).register("w1", { cap: null });
    await grant(t.database, "w1");
    await worker.start();
    expect(worker.segments).toHaveLength(100);
    await t.database.query("ALTER TABLE tallyman.scheduler_worker RENAME TO away");
    await expect.poll(() => t.database.listener.isConnected, untilPoll).toBe(true);
    for (let ms = 0; ms < 4_000; ms += 500) {
      await clock.advance(500);
      // Asleep: the heartbeat and the look for due jobs.
      await expect.poll(() => clock.pendingSleeps, untilPoll).toBe(2);
    }
    expect(worker.segments).toEqual([]);
    // The job's hint finds it with nothing to work on.
    const hinted = deferred();
    t.database.listener.subscribe(schedulerChannels(t.database).jobs, () => hinted.resolve());
    await jobs.create("k", { schedule: { at: new Date() }, command });
    await hinted.promise;
    await t.database.query("ALTER TABLE tallyman.away RENAME TO scheduler_worker");
    const firesLater = async () => {
      await clock.advance(1_000);
      return fireCount(t);
    };
    await expect.poll(firesLater, untilPoll).toBe(1);
  });

  it("waits between two looks when all that is due is held by clients", async () => {
    await using t = await setup();
    const { bus, jobs } = openJobs(t);
    await jobs.create("k", { schedule: { at: new Date(Date.now() - 1_000) }, command });
    const clock = new FakeClock();
    const worker = t.use(new SchedulerWorker(t.database, bus, { workerId: "w1", firesMax: 1, clock }));
    await new Fleet(t.database).register("w1", { cap: null });
    await grant(t.database, "w1");
    await t.database.transaction(async (tx) => {
      await jobs.pause("k", { tx });
      await worker.start();
      await expect.poll(() => worker.getMetrics().fires_stale, untilPoll).toBe(1);
      for (let i = 0; i < 50; i++) await t.database.query("SELECT 1");
      expect(worker.getMetrics()).toMatchObject({ fires_stale: 1, jobs_fired: 0 });
    });
  });

  it("stops for good when another process works under its id", async () => {
    await using t = await setup();
    t.logs.expectLog({ logger: "scheduler.worker", level: "error", message: "Failed: *" });
    const { bus } = openJobs(t);
    const first = await startSchedulerWorker(t, bus, { workerId: "w1" });
    const second = await startSchedulerWorker(t, bus, { workerId: "w1" });
    await expect.poll(() => first.state, untilPoll).toBe("ERROR");
    expect(first.failure).toMatchObject({ code: "SCHEDULER_WORKER_REPLACED" });
    expect(second.state).toBe("RUNNING");
  });

  it("survives a database that fails for a while", async () => {
    await using t = await setup();
    t.logs.expectLog({
      logger: "scheduler.worker",
      level: "warn",
      message: "Jobs could not be fired, trying again: *",
    });
    const { bus, jobs } = openJobs(t);
    const worker = await soleWorker(t, bus);
    await expect.poll(() => worker.segments.length, untilPoll).toBe(100);
    await t.database.query("ALTER TABLE tallyman.scheduler_job_state RENAME TO away");
    await expect.poll(() => worker.isHealthy(), untilPoll).toBe(false);
    await t.database.query("ALTER TABLE tallyman.away RENAME TO scheduler_job_state");
    await jobs.create("k", { schedule: { at: new Date() }, command });
    await expect.poll(() => fireCount(t), untilPoll).toBe(1);
    // The fire is there before the worker hears of it.
    await expect.poll(() => worker.isHealthy(), untilPoll).toBe(true);
  });

  it("forgets old history, and refuses settings that can't work", async () => {
    await using t = await setup();
    const { bus, jobs } = openJobs(t);
    await jobs.create("k", { schedule: { cron: "0 0 1 1 *" }, command });
    await jobs.run("k");
    await jobs.run("k");
    await t.database.query(
      "UPDATE tallyman.scheduler_fire SET fired_at = fired_at - interval '40 days' WHERE fire_time = (SELECT min(fire_time) FROM tallyman.scheduler_fire)",
    );
    await soleWorker(t, bus);
    await expect.poll(async () => (await jobs.history("k")).length, untilPoll).toBe(1);
    const bad = { heartbeatIntervalMs: 1_000, heartbeatTimeoutMs: 1_500 };
    expect(() => new SchedulerWorker(t.database, bus, bad)).toThrow(/twice heartbeatIntervalMs/);
  });

  it("forgets all that is too old, however much, and goes on firing", async () => {
    await using t = await setup();
    const { bus, jobs } = openJobs(t);
    await jobs.create("k", { schedule: { everyMs: 100 }, command });
    await t.database.query(
      `INSERT INTO tallyman.scheduler_fire (job_id, fire_time, fired_at, outcome)
       SELECT job_id, time, time, 'MISSED' FROM tallyman.scheduler_job,
         generate_series(clock_timestamp() - interval '40 days', clock_timestamp() - interval '31 days', '1 minute') AS time`,
    );
    await soleWorker(t, bus, { pollIntervalMs: 600_000 });
    const old = "SELECT FROM tallyman.scheduler_fire WHERE fired_at < clock_timestamp() - interval '30 days'";
    await expect.poll(async () => (await t.database.query(old)).rowCount, untilPoll).toBe(0);
    await expect.poll(() => fireCount(t), untilPoll).toBeGreaterThan(0);
  });
});
