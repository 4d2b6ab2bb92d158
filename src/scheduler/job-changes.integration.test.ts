import { describe, expect, it } from "vitest";
import { age, command, openJobs } from "../../tests/kit/jobs.ts";
import { setup, type TestContext } from "../testing/index.ts";

const hourMs = 3_600_000;
const schedule = { everyMs: 24 * hourMs };

/** Brings a job to the end of its fires, the last of them an hour ago, as a worker would. */
async function finish(t: TestContext, fireCount: number): Promise<void> {
  await t.database.query(
    `UPDATE tallyman.scheduler_job_state SET next_fire_at = NULL, due_at = NULL, fires_left = 0, fire_count = $1,
       last_fire_at = clock_timestamp() - interval '1 hour'`,
    [fireCount],
  );
}

describe("an update of a job", () => {
  it("leaves alone what is given as undefined", async () => {
    await using t = await setup();
    const { jobs } = openJobs(t);
    const limits = { maxFires: 5, endAt: new Date(Date.now() + 9e9), fireField: "fire", jitterMs: 500 };
    const before = await jobs.create("k", { schedule, command, ...limits, overlapPolicy: "SKIP" });
    const nothing = { maxFires: undefined, endAt: undefined, fireField: undefined, jitterMs: undefined };
    const after = await jobs.update("k", { ...nothing, overlapPolicy: undefined, enabled: true });
    expect({ ...after, updatedAt: before.updatedAt }).toEqual(before);
  });

  it("moves the end alone: the times before it stay, those still to be caught up too", async () => {
    await using t = await setup();
    const { jobs } = openJobs(t);
    await jobs.create("k", { schedule, command, misfirePolicy: "FIRE_ALL" });
    await age(t.database, "60 hours");
    const times = await jobs.nextFireTimes("k", 3);
    const first = times[0]?.getTime() ?? 0;
    expect(first).toBeLessThan(Date.now());
    const endAt = new Date(first + 36 * hourMs);
    expect(await jobs.update("k", { endAt })).toMatchObject({ endAt, nextFireAt: times[0] });
    expect(await jobs.nextFireTimes("k", 3)).toEqual(times.slice(0, 2));
    await jobs.update("k", { endAt: null });
    expect(await jobs.nextFireTimes("k", 3)).toEqual(times);
  });

  it("finishes a job whose next time is not before the new end, and goes on when that is taken away", async () => {
    await using t = await setup();
    const { jobs } = openJobs(t);
    const { nextFireAt } = await jobs.create("k", { schedule, command });
    const ended = await jobs.update("k", { endAt: nextFireAt });
    expect(ended).toMatchObject({ status: "FINISHED", nextFireAt: null });
    expect(await jobs.update("k", { endAt: null })).toMatchObject({ status: "SCHEDULED", nextFireAt });
  });

  it("lets a job that has had all its fires go on when the limit is raised, after its last one and now", async () => {
    await using t = await setup();
    const { jobs } = openJobs(t);
    const { nextFireAt } = await jobs.create("k", { schedule, command, maxFires: 3 });
    await age(t.database, "73 hours");
    await finish(t, 3);
    expect(await jobs.update("k", { jitterMs: 0 })).toMatchObject({ status: "FINISHED" });
    const raised = await jobs.update("k", { maxFires: 4 });
    // Its grid lies an hour earlier in the day than when it was made.
    const expected = new Date((nextFireAt?.getTime() ?? 0) - hourMs);
    expect(raised).toMatchObject({ status: "SCHEDULED", nextFireAt: expected });
    const { rows } = await t.database.query("SELECT due_at FROM tallyman.scheduler_job_state");
    expect(rows).toEqual([{ due_at: expected }]);
    const future = new Date(expected.getTime() + 30 * hourMs);
    await finish(t, 4);
    await t.database.query("UPDATE tallyman.scheduler_job_state SET last_fire_at = $1", [future]);
    const next = (await jobs.update("k", { maxFires: null })).nextFireAt;
    expect(next).toEqual(new Date(expected.getTime() + 48 * hourMs));
  });

  it("fires a single time only once, whatever is changed afterwards", async () => {
    await using t = await setup();
    const { jobs } = openJobs(t);
    await jobs.create("k", { schedule: { at: new Date(Date.now() - hourMs) }, command });
    await finish(t, 1);
    expect(await jobs.update("k", { maxFires: 9, endAt: null })).toMatchObject({ status: "FINISHED" });
  });
});
