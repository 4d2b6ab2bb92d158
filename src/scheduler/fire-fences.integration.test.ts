/**
 * Each fence of a fire, with the interleaving that it is there for. Random chaos would meet these moments too
 * seldom: here they are forced, on connections whose transactions stand still where the test wants it.
 */
import pg from "pg";
import { expect, it } from "vitest";
import { accountForFires, age, command, grant, openJobs } from "../../tests/kit/jobs.ts";
import type { Database } from "../database/index.ts";
import { setup, type TestContext } from "../testing/index.ts";
import type { JobDefinition, JobStore } from "./index.ts";
import { planFire } from "./schedule.ts";
import { type DueJob, type Fire, fireJobs, parkJob, selectDueJobs } from "./sql/fire.ts";
import type { SegmentGrant } from "./worker-info.ts";

const noFire = { advanced: 0, fired: 0, missed: 0, overlapped: 0, domains: [] };
let runs = 0;

function fireOf(job: DueJob): Fire {
  const runId = `00000000-0000-4000-8000-${String(++runs).padStart(12, "0")}`;
  const { fireMs, missedUntilMs, nextMs, dueMs } = planFire(job, job.nowMs);
  const { jobId, revision, nextFireMs: expectedMs, avoidsOverlap } = job;
  return { jobId, revision, expectedMs, fireMs, missedUntilMs, nextMs, dueMs, avoidsOverlap, runId };
}

/** One job that is due, its segment given to "w1", and what "w1" decided to fire. */
async function dueJob(t: TestContext, more: Partial<JobDefinition> = {}) {
  const { bus, jobs } = openJobs(t);
  const { segmentId } = await jobs.create("k", { schedule: { everyMs: 60_000 }, command, ...more });
  await age(t.database, "61 s");
  const grants = await grant(t.database, "w1", [segmentId]);
  const [job] = await selectDueJobs(t.database, [segmentId], { perSegment: 10, limit: 10 });
  if (!job) throw new Error("The job is not due.");
  return { bus, jobs, segmentId, grants, fires: [fireOf(job)] };
}

/** A connection whose transaction the test ends. */
async function openTransaction(t: TestContext): Promise<pg.Client> {
  const client = new pg.Client(t.url);
  await client.connect();
  t.use({ [Symbol.asyncDispose]: () => client.end() });
  await client.query("BEGIN");
  return client;
}

const takeOver = (segmentId: number) =>
  `UPDATE tallyman.scheduler_segment SET worker_id = 'w2', epoch = epoch + 1 WHERE segment_id = ${segmentId}`;

async function lockWaits(database: Database): Promise<number> {
  const { rows } = await database.query<{ n: number }>(
    "SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
  );
  return rows[0]?.n ?? 0;
}

/** Ends when the statement waits for a lock, or has not waited at all. */
async function untilWaiting(database: Database, statement: Promise<unknown>): Promise<void> {
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  statement.then(over, over);
  await expect.poll(async () => isOver || (await lockWaits(database)) > 0, { timeout: 20_000 }).toBe(true);
}

it("FOR SHARE: a fire that meets a takeover under way waits for it, and then fires nothing", async () => {
  await using t = await setup();
  const { segmentId, grants, fires } = await dueJob(t);
  const leader = await openTransaction(t);
  await leader.query(takeOver(segmentId));
  const firing = fireJobs(t.database, "w1", grants, fires);
  await untilWaiting(t.database, firing);
  await leader.query("COMMIT");
  expect(await firing).toEqual({ ...noFire, lostSegments: [segmentId] });
  expect(await accountForFires(t.database)).toBe(0);
});

it("FOR SHARE: a takeover waits for the fire that is under way, so that the next owner sees it", async () => {
  await using t = await setup();
  const { segmentId, grants, fires } = await dueJob(t);
  const worker = await openTransaction(t);
  expect(await fireJobs(t.database.join(worker), "w1", grants, fires)).toMatchObject({ fired: 1 });
  const taking = t.database.query(takeOver(segmentId));
  let hasTaken = false;
  void taking.then(() => {
    hasTaken = true;
  });
  await untilWaiting(t.database, taking);
  expect(hasTaken).toBe(false);
  await worker.query("COMMIT");
  await taking;
  expect(await selectDueJobs(t.database, [segmentId], { perSegment: 10, limit: 10 })).toEqual([]);
  expect(await accountForFires(t.database)).toBe(1);
});

it("owner: of two workers that name the same segment and epoch only its owner fires", async () => {
  await using t = await setup();
  const { segmentId, grants, fires } = await dueJob(t);
  const again = fires.map((fire) => ({ ...fire, runId: fireOf({ ...fire } as never).runId }));
  const [stranger, owner] = await Promise.all([
    fireJobs(t.database, "w2", grants, again),
    fireJobs(t.database, "w1", grants, fires),
  ]);
  expect(stranger).toEqual({ ...noFire, lostSegments: [segmentId] });
  expect(owner).toMatchObject({ fired: 1, lostSegments: [] });
  expect(await accountForFires(t.database)).toBe(1);
});

it("epoch: a worker that lost its segment and got it again can't fire by the earlier grant", async () => {
  await using t = await setup();
  const { segmentId, grants, fires } = await dueJob(t);
  await grant(t.database, "w2", [segmentId]);
  const later = await grant(t.database, "w1", [segmentId]);
  expect(await fireJobs(t.database, "w1", grants, fires)).toEqual({ ...noFire, lostSegments: [segmentId] });
  expect(await fireJobs(t.database, "w1", later, fires)).toMatchObject({ fired: 1 });
  expect(await accountForFires(t.database)).toBe(1);
});

it("REVOKING: a segment that is asked back starts no fire", async () => {
  await using t = await setup();
  const { segmentId, grants, fires } = await dueJob(t);
  await t.database.query(
    "UPDATE tallyman.scheduler_segment SET status = 'REVOKING', revoke_deadline = clock_timestamp() WHERE segment_id = $1",
    [segmentId],
  );
  expect(await fireJobs(t.database, "w1", grants, fires)).toEqual({ ...noFire, lostSegments: [segmentId] });
  expect(await accountForFires(t.database)).toBe(0);
});

it("compare: the same decision carried out twice at once fires once", async () => {
  await using t = await setup();
  const { grants, fires } = await dueJob(t);
  const again = fires.map((fire) => ({ ...fire, runId: "00000000-0000-4000-8000-ffffffffffff" }));
  const results = await Promise.all([
    fireJobs(t.database, "w1", grants, fires),
    fireJobs(t.database, "w1", grants, again),
  ]);
  expect(results.map(({ fired }) => fired).sort()).toEqual([0, 1]);
  expect(await accountForFires(t.database)).toBe(1);
});

it("compare: a decision that was carried out before can't set the next time back", async () => {
  await using t = await setup();
  const { jobs, segmentId, grants, fires } = await dueJob(t);
  await fireJobs(t.database, "w1", grants, fires);
  const afterFirst = await jobs.get("k");
  await t.database.query("UPDATE tallyman.scheduler_job_state SET due_at = clock_timestamp()");
  const [job] = await selectDueJobs(t.database, [segmentId], { perSegment: 10, limit: 10 });
  if (!job) throw new Error("The job is not due.");
  await fireJobs(t.database, "w1", grants, [fireOf(job)]);
  const afterSecond = await jobs.get("k");
  expect(afterSecond?.nextFireAt?.getTime()).toBeGreaterThan(afterFirst?.nextFireAt?.getTime() ?? 0);
  expect(await fireJobs(t.database, "w1", grants, fires)).toEqual({ ...noFire, lostSegments: [] });
  expect(await jobs.get("k")).toEqual(afterSecond);
});

it("fire key: a next time that was set back by hand does not fire again", async () => {
  await using t = await setup();
  const { bus, grants, fires } = await dueJob(t);
  await fireJobs(t.database, "w1", grants, fires);
  const [fire] = fires;
  await t.database.query(
    "UPDATE tallyman.scheduler_job_state SET next_fire_at = tallyman.scheduler_time($1), due_at = tallyman.scheduler_time($1)",
    [fire?.expectedMs],
  );
  const again = fires.map((one) => ({ ...one, runId: "00000000-0000-4000-8000-ffffffffffff" }));
  expect(await fireJobs(t.database, "w1", grants, again)).toMatchObject({ advanced: 1, fired: 0 });
  expect(await bus.getCommand("d", "00000000-0000-4000-8000-ffffffffffff")).toBeNull();
});

it("revision: a job that was changed between decision and fire is left alone", async () => {
  await using t = await setup();
  const { jobs, grants, fires } = await dueJob(t);
  await jobs.update("k", { jitterMs: 5 });
  expect(await fireJobs(t.database, "w1", grants, fires)).toEqual({ ...noFire, lostSegments: [] });
  await jobs.pause("k");
  expect(await fireJobs(t.database, "w1", grants, fires)).toEqual({ ...noFire, lostSegments: [] });
});

const holds = {
  pause: (jobs, client) => jobs.pause("k", { tx: client }),
  update: (jobs, client) => jobs.update("k", { jitterMs: 5 }, { tx: client }),
  run: (jobs, client) => jobs.run("k", { tx: client }),
} satisfies Record<string, (jobs: JobStore, client: pg.Client) => Promise<unknown>>;

it.each(Object.entries(holds))(
  "SKIP LOCKED: a job held by an open %s keeps no other from firing, and fires when it is let go",
  async (_, hold) => {
    await using t = await setup();
    const { jobs } = await dueJob(t);
    await jobs.create("other", { schedule: { everyMs: 60_000 }, command });
    await age(t.database, "61 s");
    const grants = await grant(t.database, "w1");
    const segmentIds = grants.map(({ segmentId }) => segmentId);
    const due = async () =>
      (await selectDueJobs(t.database, segmentIds, { perSegment: 10, limit: 10 })).map(fireOf);
    const client = await openTransaction(t);
    await hold(jobs, client);
    const firing = fireJobs(t.database, "w1", grants, await due());
    await untilWaiting(t.database, firing);
    expect(await lockWaits(t.database)).toBe(0);
    expect(await firing).toMatchObject({ advanced: 1, fired: 1, lostSegments: [] });
    expect(await jobs.get("other")).toMatchObject({ fireCount: 1 });
    await client.query("ROLLBACK");
    expect(await fireJobs(t.database, "w1", grants, await due())).toMatchObject({ advanced: 1, fired: 1 });
    expect(await accountForFires(t.database)).toBe(2);
  },
);

it("SKIP LOCKED: a job that is to be parked while somebody holds it is left alone", async () => {
  await using t = await setup();
  const { jobs, grants, fires } = await dueJob(t);
  const [fire] = fires;
  if (!fire) throw new Error("The job is not due.");
  const park = () => parkJob(t.database, "w1", grants, fire, { code: "C", message: "m" });
  const client = await openTransaction(t);
  await jobs.run("k", { tx: client });
  const parking = park();
  await untilWaiting(t.database, parking);
  expect(await lockWaits(t.database)).toBe(0);
  expect(await parking).toBe(false);
  await client.query("COMMIT");
  expect(await park()).toBe(true);
  expect(await jobs.get("k")).toMatchObject({ status: "PARKED", errorCode: "C" });
});

it("overlap: a run by hand that commits while the job is about to fire counts", async () => {
  await using t = await setup();
  const { jobs, grants, fires } = await dueJob(t, { overlapPolicy: "SKIP" });
  const client = await openTransaction(t);
  await jobs.run("k", { tx: client });
  const firing = fireJobs(t.database, "w1", grants, fires);
  await untilWaiting(t.database, firing);
  await client.query("COMMIT");
  expect(await firing).toMatchObject({ fired: 0 });
  expect(await fireJobs(t.database, "w1", grants, fires)).toMatchObject({ fired: 0, overlapped: 1 });
});

it("segment: a worker that names another segment than the job's fires nothing", async () => {
  await using t = await setup();
  const { segmentId, fires } = await dueJob(t);
  const other: SegmentGrant[] = await grant(t.database, "w2", [(segmentId + 1) % 100]);
  expect(await fireJobs(t.database, "w2", other, fires)).toEqual({ ...noFire, lostSegments: [] });
});
