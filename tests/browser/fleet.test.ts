import { expect, it } from "vitest";
import type { Tallyman } from "../../src/app/index.ts";
import { Coordinator } from "../../src/scheduler/index.ts";
import { setup, type TestContext } from "../../src/testing/index.ts";
import { openServer } from "../kit/api.ts";
import { startChild } from "../kit/children.ts";
import { coordinatorLauncher } from "../kit/scheduler.ts";
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
  const quick = { heartbeatIntervalMs: 100, heartbeatTimeoutMs: 20_000, pollIntervalMs: 100 };
  const worker = t.use(tallyman.scheduler.worker({ workerId, ...quick }));
  await worker.start();
  return worker;
}

/** A worker that is a process of its own, so that it can be killed. */
function launchWorker(t: TestContext, workerId: string) {
  const main = new URL("../../src/cli/main.ts", import.meta.url);
  const quick = ["--heartbeat-interval", "200ms", "--heartbeat-timeout", "2s"];
  const args = ["--database-url", t.url, "scheduler-worker", "--id", workerId, ...quick];
  return t.use(startChild(main, { args }));
}

it("the leader and a worker are killed, and the grid heals on the screen", async () => {
  await using t = await setup();
  const { tallyman } = await openServer(t);
  const settings = { heartbeatInterval: 500, heartbeatTimeout: 2_000, leaderLease: 6_000 };
  const launch = await coordinatorLauncher(t, settings);
  const leader = await launch("coordinator-1");
  const [next, worker] = [await launch("coordinator-2"), launchWorker(t, "worker-1")];
  await startWorker(t, tallyman, "worker-2");
  const page = await openPage(t, browser(), `${next.url}/fleet`);
  await page.locator("[data-leader=coordinator-1]").waitFor();
  await page.getByText("leads in epoch 1").waitFor();
  await expect.poll(() => page.locator(".segment[title*=worker-1]").count(), { timeout: 90_000 }).toBe(50);
  for (const { child } of [leader, { child: worker }]) child.kill("SIGKILL");
  expect(await leader.child.exit).toEqual({ code: null, signal: "SIGKILL" });
  await page.locator("[data-leader=coordinator-2]").waitFor();
  await page.getByText("leads in epoch 2").waitFor();
  await expect.poll(() => page.locator(".segment[title*=worker-2]").count(), { timeout: 90_000 }).toBe(100);
  await page.getByText("100 of 100 owned").waitFor();
  await page.getByRole("row", { name: /worker-1 (unhealthy|offline)/ }).waitFor();
}, 300_000);

it("a worker is drained from the page, and its segments move", async () => {
  await using t = await setup();
  const { tallyman, server, client } = await openServer(t);
  await startCoordinator(t, tallyman, "coordinator-1");
  for (const id of ["worker-1", "worker-2"]) await startWorker(t, tallyman, id);
  const page = await openPage(t, browser(), `${server.url}/fleet`);
  await expect.poll(() => page.locator(".segment[title*=worker-1]").count(), { timeout: 20_000 }).toBe(50);
  await page.getByRole("button", { name: "Drain worker-1" }).click();
  await page.getByText("50 segments would move to other workers.").waitFor();
  await confirm(page, "Drain", "new memory");
  await page.getByText("worker-1 is draining.").waitFor();
  await expect.poll(() => page.locator(".segment[title*=worker-2]").count(), { timeout: 20_000 }).toBe(100);
  const { items } = await client.call("GET /api/actions");
  expect(items).toMatchObject([{ action: "worker.drain", reason: "new memory" }]);
});

it("a job is added, fires, is paused, run by hand, resumed and removed", async () => {
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
  await page.getByLabel("State").selectOption("PARKED");
  await page.getByText("No job in this state").waitFor();
  await page.getByLabel("State").selectOption("PAUSED");
  await page.getByRole("button", { name: "Run nightly/ship it" }).click();
  await confirm(page, "Run now");
  await page.getByText(/nightly\/ship it has sent/).waitFor();
  await page.getByLabel("State").selectOption("");
  await page.getByRole("button", { name: "Resume nightly/ship it" }).click();
  await confirm(page, "Resume");
  await page.getByRole("row", { name: /nightly\/ship it scheduled/ }).waitFor();
  await page.getByRole("button", { name: "nightly/ship it", exact: true }).click();
  const sheet = page.getByRole("complementary");
  await sheet.getByText("fired by hand").waitFor();
  await sheet.getByText("fired", { exact: true }).first().waitFor();
  await sheet.getByRole("button", { name: "Remove …" }).click();
  await confirm(page, "Remove");
  await page.getByText("No job yet").waitFor();
});

it("a job is edited: only what was changed is sent, and what it sends stays", async () => {
  await using t = await setup();
  const { tallyman, server, client } = await openServer(t);
  const { jobs } = tallyman.scheduler;
  const before = await jobs.create("report", {
    schedule: { cron: "0 6 * * *", timeZone: "UTC" },
    command: { domain: "orders", commandType: "Report", data: { format: "short" } },
  });
  const page = await openPage(t, browser(), `${server.url}/fleet?job=report`, { expectedErrors: /400/ });
  const edit = async () => {
    await page.getByRole("button", { name: "Edit …" }).click();
    return page.getByRole("dialog");
  };
  const dialog = await edit();
  await dialog.getByText("It fires next at").waitFor();
  await dialog.getByLabel("Missed fires").selectOption("SKIP");
  await confirm(page, "Save", "nobody reads old reports");
  await page.getByText("report fires next at").waitFor();
  expect(await jobs.get("report")).toMatchObject({
    schedule: before.schedule,
    nextFireAt: before.nextFireAt,
    misfirePolicy: "SKIP",
  });
  await (await edit()).getByRole("textbox", { name: "Cron" }).fill("no pattern");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByText("can't be read").waitFor();
  await dialog.locator("select[name=kind]").selectOption("every");
  await dialog.getByRole("spinbutton", { name: "Seconds" }).fill("90");
  await confirm(page, "Save");
  await page.getByRole("row", { name: /report scheduled every 1 min 30 s/ }).waitFor();
  expect(await jobs.payload("report")).toMatchObject([{ data: { format: "short" } }]);
  const { items } = await client.call("GET /api/actions", { query: { action: "job.update" } });
  expect(items.map(({ target }) => target)).toEqual([
    { key: "report", fields: ["schedule", "misfirePolicy", "overlapPolicy"] },
    { key: "report", fields: ["misfirePolicy", "overlapPolicy"] },
  ]);
});
