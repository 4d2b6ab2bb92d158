import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { setup, startChild } from "../src/testing/index.ts";
import { json, tallyman } from "./kit/cli.ts";
import { grant } from "./kit/jobs.ts";

const main = new URL("../src/cli/main.ts", import.meta.url);

it("adds, lists, shows, pauses, resumes, runs and removes jobs from the command line", async () => {
  await using t = await setup();
  const { url } = t;
  const file = join(await t.temporaryFolder(), "commands.ndjson");
  await writeFile(file, '{"commandType": "A"}\n{"commandType": "B", "data": {"n": 2}}\n');
  const [nightly, poll, batch] = [
    await json(
      url,
      "job",
      "add",
      "nightly",
      "--cron",
      "30 2 * * *",
      "--zone",
      "Europe/Berlin",
      "--type",
      "Bill",
    ),
    await json(
      url,
      "job",
      "add",
      "poll",
      "--every",
      "1.5m",
      "--type",
      "Poll",
      "--data",
      '{"n":1}',
      "--overlap",
      "skip",
    ),
    await json(
      url,
      "job",
      "add",
      "batch",
      "--at",
      "2035-01-01T00:00:00Z",
      "--batch-file",
      file,
      "--domain",
      "orders",
    ),
  ];
  expect(nightly).toMatchObject({
    status: "SCHEDULED",
    schedule: { cron: "30 2 * * *", timeZone: "Europe/Berlin" },
  });
  expect(poll).toMatchObject({ schedule: { everyMs: 90_000 }, overlapPolicy: "SKIP" });
  expect(batch).toMatchObject({ target: "BATCH", commandCount: 2, domain: "orders" });
  expect((await tallyman(url, "job", "list")).out).toContain("cron 30 2 * * * (Europe/Berlin)");

  const { runId } = await json(url, "job", "run", "poll");
  const shown = await json(url, "job", "show", "poll", "--next", "3");
  expect(shown).toMatchObject({
    commands: [{ commandType: "Poll", data: { n: 1 } }],
    history: [{ runId, isManual: true }],
  });
  expect(shown.nextFireTimes).toHaveLength(3);

  expect((await tallyman(url, "job", "pause", "poll")).out).toBe("Paused poll.\n");
  expect(await json(url, "job", "list", "--status", "paused")).toMatchObject([{ key: "poll" }]);
  expect((await tallyman(url, "job", "resume", "poll")).out).toBe("Resumed poll.\n");
  expect(await json(url, "job", "remove", "poll")).toEqual({ key: "poll" });

  expect(await tallyman(url, "job", "show", "poll")).toMatchObject({ code: 3 });
  expect(await tallyman(url, "job", "add", "x", "--type", "T")).toMatchObject({
    code: 2,
    err: expect.stringContaining("one of --at, --every and --cron"),
  });
  expect(await tallyman(url, "job", "add", "nightly", "--every", "1h", "--type", "T")).toMatchObject({
    code: 1,
    err: expect.stringContaining("JOB_EXISTS"),
  });
}, 300_000);

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
