import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ServiceBoard, ServiceManager, type Tallyman } from "../../src/app/index.ts";
import { DeadLetterQueue, DummyIndexer } from "../../src/pipeline/index.ts";
import { setup, type TestContext } from "../../src/testing/index.ts";
import { openServer } from "../kit/api.ts";
import { openPipeline, quick, started, until } from "../kit/pipeline.ts";
import { configOf, ProbeWorld } from "../kit/services.ts";
import { confirm, openPage, untilLive, useBrowser } from "./stage.ts";

const browser = useBrowser();

/** A process with a service that the test directs. */
async function startProbe(t: TestContext, tallyman: Tallyman) {
  const world = new ProbeWorld();
  const config = configOf("services: { probe: { className: Probe } }");
  const manager = t.use(new ServiceManager(tallyman, config, { services: world.services }));
  const board = t.use(new ServiceBoard(tallyman.database, manager, { name: "pipeline-a", intervalMs: 100 }));
  await board.start();
  await manager.start();
  return { world, manager };
}

it("a service is paused, resumed, restarted, stopped and started", async () => {
  await using t = await setup();
  const { server, tallyman } = await openServer(t);
  const { world, manager } = await startProbe(t, tallyman);
  const page = await openPage(t, browser(), `${server.url}/pipeline`);
  await page.getByRole("button", { name: "Pause probe" }).click();
  const paused = confirm(page, "Pause");
  await until("the probe has paused at the end of a turn", () => {
    world.probe("probe").endTurn();
    return manager.status().some(({ state }) => state === "PAUSED");
  });
  await paused;
  await page.getByText("probe is paused.").waitFor();
  const act = async (verb: string, became: string) => {
    await page.getByRole("button", { name: `${verb} probe` }).click();
    await confirm(page, verb);
    await page.getByText(`probe is ${became}.`).last().waitFor();
    await page.getByRole("row", { name: new RegExp(`probe Probe ${became}`) }).waitFor();
  };
  await act("Resume", "running");
  world.events.length = 0;
  await act("Restart", "running");
  expect(world.events).toEqual(["probe flushes", "probe flushed", "probe starts"]);
  await act("Stop", "stopped");
  await act("Start", "running");
});

it("a process that is lost is forgotten, with its services", async () => {
  await using t = await setup();
  const { server } = await openServer(t);
  const managerId = randomUUID();
  await t.database.query(
    `INSERT INTO tallyman.service_manager (manager_id, name, hostname, pid, heartbeat_at, lost_after_ms)
     VALUES ($1, 'pipeline-a', 'host', 1, clock_timestamp() - interval '1 hour', 1000)`,
    [managerId],
  );
  await t.database.query(
    `INSERT INTO tallyman.service (manager_id, name, class_name, position, state, is_starting, restarts)
     VALUES ($1, 'probe', 'Probe', 0, 'RUNNING', false, 0)`,
    [managerId],
  );
  const page = await openPage(t, browser(), `${server.url}/pipeline`);
  await page.getByText("1 process, 1 lost").waitFor();
  await page.getByRole("row", { name: /probe Probe process lost/ }).waitFor();
  await page.getByRole("button", { name: "Forget process …" }).click();
  await confirm(page, "Forget", "the machine is gone");
  await page.getByText("pipeline-a is forgotten.").waitFor();
  await page.getByText("No service yet").waitFor();
});

it("a group is paused, resumed, sought and deleted", async () => {
  await using t = await setup();
  const { server, tallyman } = await openServer(t);
  const pipeline = await openPipeline(t);
  await pipeline.reader("slow");
  for (const start of [0, 10, 20]) await pipeline.send(start, 10);
  const page = await openPage(t, browser(), `${server.url}/pipeline`);
  const act = async (verb: string, row: RegExp) => {
    await page.getByRole("button", { name: `${verb} slow` }).click();
    await confirm(page, verb);
    await page.getByRole("row", { name: row }).waitFor();
  };
  await act("Pause", /slow paused/);
  await act("Resume", /slow running 3/);
  await page.getByRole("button", { name: "Seek slow" }).click();
  await page.getByText("3 messages to read at present, of 3 messages in batch-topic.").waitFor();
  await page.getByLabel("Go to").selectOption("end");
  await confirm(page, "Seek", "they are known");
  await page.getByText("slow has 0 messages to read.").waitFor();
  await page.getByRole("row", { name: /slow running 0/ }).waitFor();
  await act("Seek", /slow running 3/);
  await page.getByRole("button", { name: "Seek slow" }).click();
  await page.getByLabel("Go to").selectOption("time");
  await page.getByLabel("Time", { exact: true }).fill("2020-01-01T00:00:00");
  await confirm(page, "Seek");
  await page.getByText("slow has 3 messages to read.").last().waitFor();
  await page.getByRole("button", { name: "Delete slow" }).click();
  await page.getByText("3 messages that it has not read would not be delivered to it.").waitFor();
  await confirm(page, "Delete");
  await page.getByText("slow is deleted.").waitFor();
  await page.getByText("no group").waitFor();
  expect(await tallyman.topics.listGroups("batch-topic")).toEqual([]);
});

it("files that were given up are read page by page, and tried again", async () => {
  await using t = await setup();
  for (const message of ["Failed to index *", "Moved to the dead letters: *"])
    t.logs.expectLog({ logger: "pipeline.failures", level: "warn", message });
  t.logs.expectLog({ logger: "storage", level: "warn", message: "Replacing a damaged batch file" });
  const { server } = await openServer(t);
  const pipeline = await openPipeline(t);
  const starts = Array.from({ length: 22 }, (_, index) => index * 10);
  await pipeline.writeMetadata(219);
  for (const start of starts) {
    const { key, ...file } = await pipeline.write(start, 10);
    await writeFile(join(pipeline.storage.place, key), "not a batch file at all, but long enough to be read");
    await pipeline.announce({ key, ...file });
  }
  const deadLetters = await DeadLetterQueue.open(pipeline.topics, { topic: "batch-topic-dead-letters" });
  const resources = { ...(await pipeline.resources("dummy")), deadLetters };
  await started(t, new DummyIndexer("dummy", resources, { ...quick, maxRetries: 1 }));
  const page = await openPage(t, browser(), `${server.url}/pipeline`);
  await page.getByText("0 of 220 ticks indexed, 220 failed").waitFor();
  await untilLive(page);
  const table = page.getByRole("region", { name: "Failed files" });
  await expect.poll(() => table.locator("tbody tr").count()).toBe(20);
  await page.getByRole("button", { name: "More" }).click();
  await expect.poll(() => table.locator("tbody tr").count()).toBe(22);
  for (const start of starts) await pipeline.write(start, 10);
  await page.getByRole("button", { name: "Retry all …" }).click();
  await page.getByText("22 files would be tried again.").waitFor();
  await confirm(page, "Retry", "the disk is mended");
  await page.getByText("22 files handed back to DummyIndexer.").waitFor();
  await page.getByText("220 of 220 ticks indexed").waitFor();
  await table.waitFor({ state: "detached" });
});
