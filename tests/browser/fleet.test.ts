import { expect, it } from "vitest";
import type { Tallyman } from "../../src/app/index.ts";
import { Coordinator } from "../../src/scheduler/index.ts";
import { setup, type TestContext } from "../../src/testing/index.ts";
import { openServer } from "../kit/api.ts";
import { confirm, openPage, startShop, untilLive, useBrowser } from "./stage.ts";

const browser = useBrowser();

async function startCoordinator(t: TestContext, tallyman: Tallyman, coordinatorId: string) {
  const quick = {
    leaseMs: 1_500,
    renewMs: 300,
    scanIntervalMs: 50,
    joinDelayMs: 0,
    leaderElectionIntervalMs: 100,
  };
  const coordinator = t.use(new Coordinator(tallyman.database, { coordinatorId, port: 1, ...quick }));
  await coordinator.start();
  return coordinator;
}

async function startWorker(t: TestContext, tallyman: Tallyman, workerId: string) {
  const quick = { heartbeatIntervalMs: 100, heartbeatTimeoutMs: 2_000, pollIntervalMs: 100 };
  const worker = t.use(tallyman.scheduler.worker({ workerId, ...quick }));
  await worker.start();
  return worker;
}

it("the leader and a worker stop, and the grid heals on the screen", async () => {
  await using t = await setup();
  const { tallyman, server } = await openServer(t);
  const first = await startCoordinator(t, tallyman, "coordinator-1");
  const [worker] = [await startWorker(t, tallyman, "worker-1"), await startWorker(t, tallyman, "worker-2")];
  const page = await openPage(t, browser(), `${server.url}/fleet`);
  await page.getByText("100 of 100 owned").waitFor();
  await page.locator("[data-leader=coordinator-1]").waitFor();
  await page.getByText("leads in epoch 1").waitFor();
  await startCoordinator(t, tallyman, "coordinator-2");
  await first.stop();
  await page.locator("[data-leader=coordinator-2]").waitFor();
  await page.getByText("leads in epoch 2").waitFor();
  await worker.stop();
  await expect.poll(() => page.locator(".segment[title*=worker-2]").count(), { timeout: 20_000 }).toBe(100);
  await page.getByText("100 of 100 owned").waitFor();
  await page.getByRole("row", { name: /worker-1 offline/ }).waitFor();
});

it("a worker is drained from the page, and its segments move", async () => {
  await using t = await setup();
  const { tallyman, server } = await openServer(t);
  await startCoordinator(t, tallyman, "coordinator-1");
  for (const id of ["worker-1", "worker-2"]) await startWorker(t, tallyman, id);
  const page = await openPage(t, browser(), `${server.url}/fleet`);
  await expect.poll(() => page.locator(".segment[title*=worker-1]").count(), { timeout: 20_000 }).toBe(50);
  await page.getByRole("button", { name: "Drain worker-1" }).click();
  await page.getByText("50 segments would move to other workers.").waitFor();
  await confirm(page, "Drain");
  await page.getByText("worker-1 is draining.").waitFor();
  await expect.poll(() => page.locator(".segment[title*=worker-2]").count(), { timeout: 20_000 }).toBe(100);
});

it("a job is added, fires, is paused, run by hand and removed", async () => {
  await using t = await setup();
  const { tallyman, server } = await openServer(t);
  await startCoordinator(t, tallyman, "coordinator-1");
  await startWorker(t, tallyman, "worker-1");
  await startShop(t, tallyman);
  const page = await openPage(t, browser(), `${server.url}/fleet`);
  await page.getByText("No job yet").waitFor();
  await untilLive(page);
  await page.getByRole("button", { name: "Add job …" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Key").fill("nightly/ship it");
  await dialog.getByLabel("Seconds", { exact: true }).fill("1");
  await dialog.getByLabel("Domain").fill("orders");
  await dialog.getByLabel("Command type").fill("Ship");
  await dialog.getByLabel("Data as JSON").fill("{ item: 1 }");
  await dialog.getByRole("button", { name: "Add job" }).click();
  await dialog.getByText("The data is not valid JSON.").waitFor();
  await dialog.getByLabel("Data as JSON").fill('{ "item": 1 }');
  await dialog.getByRole("button", { name: "Add job" }).click();
  await page.getByText("nightly/ship it is scheduled.").waitFor();
  await expect
    .poll(async () => (await tallyman.scheduler.jobs.get("nightly/ship it"))?.fireCount, { timeout: 20_000 })
    .toBeGreaterThan(0);
  await page.getByRole("button", { name: "Pause nightly/ship it" }).click();
  await confirm(page, "Pause");
  await page.getByRole("row", { name: /nightly\/ship it paused/ }).waitFor();
  await page.getByRole("button", { name: "Run nightly/ship it" }).click();
  await confirm(page, "Run now");
  await page.getByText(/nightly\/ship it has sent/).waitFor();
  await page.getByRole("button", { name: "nightly/ship it", exact: true }).click();
  const sheet = page.getByRole("complementary");
  await sheet.getByText("fired by hand").waitFor();
  await sheet.getByText("fired", { exact: true }).first().waitFor();
  await sheet.getByRole("button", { name: "Remove …" }).click();
  await confirm(page, "Remove");
  await page.getByText("No job yet").waitFor();
});
