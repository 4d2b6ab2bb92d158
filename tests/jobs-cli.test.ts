import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { setup } from "../src/testing/index.ts";
import { startChild } from "./kit/children.ts";
import { commandLine, flagsTo, json, places } from "./kit/cli.ts";
import { grant } from "./kit/jobs.ts";

const main = new URL("../src/cli/main.ts", import.meta.url);

describe.each(places)("jobs from the command line, by way of %s", (place) => {
  it("are added, listed, shown, paused, resumed, run and removed, each with its row in the audit", async () => {
    await using t = await setup();
    const { run, json } = commandLine(await flagsTo(place, t));
    const file = join(await t.temporaryFolder(), "commands.ndjson");
    await writeFile(file, '{"commandType": "A"}\n{"commandType": "B", "data": {"n": 2}}\n');
    const add = (key: string, ...options: string[]) => json("job", "add", key, ...options);
    expect(
      await add("nightly", "--cron", "30 2 * * *", "--zone", "Europe/Berlin", "--type", "Bill"),
    ).toMatchObject({
      status: "SCHEDULED",
      schedule: { cron: "30 2 * * *", timeZone: "Europe/Berlin" },
    });
    expect(
      await add("poll", "--every", "1.5m", "--type", "Poll", "--data", '{"n":1}', "--overlap", "skip"),
    ).toMatchObject({ schedule: { everyMs: 90_000 }, overlapPolicy: "SKIP" });
    expect(
      await add("a/b c", "--at", "2035-01-01T00:00:00Z", "--batch-file", file, "--domain", "orders"),
    ).toMatchObject({ key: "a/b c", target: "BATCH", commandCount: 2, domain: "orders" });
    expect((await run("job", "list")).text).toContain("cron 30 2 * * * (Europe/Berlin)");
    expect((await run("job", "show", "a/b c")).text).toContain("once at 2035-01-01T00:00:00.000Z");

    const { runId } = await json("job", "run", "poll");
    const shown = await json("job", "show", "poll", "--next", "3");
    expect(shown).toMatchObject({
      commands: [{ commandType: "Poll", data: { n: 1 } }],
      history: [{ runId, isManual: true }],
    });
    expect(shown.nextFireTimes).toHaveLength(3);

    expect((await run("job", "pause", "poll")).text).toBe("Paused poll.");
    expect(await json("job", "list", "--status", "paused")).toMatchObject([{ key: "poll" }]);
    expect((await run("job", "resume", "poll")).text).toBe("Resumed poll.");
    expect(await json("job", "remove", "poll")).toEqual({ key: "poll" });
    const actions = await json("audit");
    expect(actions.map(({ action }: { action: string }) => action)).toEqual([
      ...["job.remove", "job.resume", "job.pause", "job.run", "job.create", "job.create", "job.create"],
    ]);

    expect(await run("job", "show", "poll")).toMatchObject({ code: 3 });
    expect(await run("job", "add", "x", "--type", "T")).toMatchObject({
      code: 2,
      errors: expect.stringContaining("one of --at, --every and --cron"),
    });
    expect(await run("job", "add", "nightly", "--every", "1h", "--type", "T")).toMatchObject({
      code: 1,
      errors: expect.stringContaining("JOB_EXISTS"),
    });
    expect(await run("job", "add", "y", "--cron", "61 * * * *", "--type", "T")).toMatchObject({ code: 2 });
  });
});

it("a scheduler worker fires, and gives its segments back on SIGTERM", async () => {
  await using t = await setup();
  const { url } = t;
  await json(
    url,
    "job",
    "add",
    "soon",
    "--every",
    "200ms",
    "--max-fires",
    "3",
    "--misfire",
    "all",
    "--type",
    "T",
  );
  await using worker = startChild(main, {
    args: ["--json", "--database-url", url, "scheduler-worker", "--id", "w1"],
  });
  const registered = "SELECT FROM tallyman.scheduler_worker WHERE status = 'ONLINE'";
  const { poll } = expect;
  await poll(async () => (await t.database.query(registered)).rowCount, { timeout: 30_000 }).toBe(1);
  await grant(t.database, "w1");
  const finished = "SELECT FROM tallyman.scheduler_job_state WHERE fire_count = 3 AND next_fire_at IS NULL";
  await poll(async () => (await t.database.query(finished)).rowCount, { timeout: 30_000 }).toBe(1);
  worker.kill("SIGTERM");
  expect(await worker.exit).toEqual({ code: 0, signal: null });
  expect(JSON.parse(worker.lines.join("\n"))).toMatchObject({ workerId: "w1", metrics: { jobs_fired: 3 } });
  const held = "SELECT FROM tallyman.scheduler_segment WHERE worker_id IS NOT NULL";
  expect((await t.database.query(held)).rowCount).toBe(0);
}, 300_000);
