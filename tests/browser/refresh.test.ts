import type { Page, Route } from "playwright-core";
import { expect, it } from "vitest";
import { setup } from "../../src/testing/index.ts";
import { openServer } from "../kit/api.ts";
import { confirm, openPage, orders, startShop, troubledRow, untilLive, useBrowser } from "./stage.ts";

const browser = useBrowser();

/** The texts of a table's links, from the top. */
function linksIn(page: Page, region: string): Promise<string[]> {
  return page.getByRole("region", { name: region, exact: true }).locator("tbody a").allTextContents();
}

const away = (route: Route) =>
  route.fulfill({
    status: 503,
    json: { success: false, error: { code: "DATABASE_UNREACHABLE", message: "The database is away." } },
  });

it("rows that newer ones push off the first page are on the next, which was read before", async () => {
  await using t = await setup();
  const { server, tallyman } = await openServer(t);
  const create = (name: string) => tallyman.commands.createBatch("later", orders(1, 0), { name });
  const names = Array.from({ length: 110 }, (_, index) => `Batch ${index}`);
  for (const name of names) await create(name);
  const page = await openPage(t, browser(), `${server.url}/batches`);
  await untilLive(page);
  await page.getByRole("button", { name: "More" }).click();
  await expect.poll(() => linksIn(page, "Batches")).toEqual(names.toReversed().slice(0, 100));
  const late = ["Late 1", "Late 2", "Late 3"];
  for (const name of late) await create(name);
  const all = [...names, ...late].toReversed();
  await expect.poll(() => linksIn(page, "Batches"), { timeout: 10_000 }).toEqual(all.slice(0, 100));
  await page.getByRole("button", { name: "More" }).click();
  await expect.poll(() => linksIn(page, "Batches")).toEqual(all);
  expect(await page.getByRole("button", { name: "More" }).count()).toBe(0);
});

it("rows that have gone disappear from every page that was read", async () => {
  await using t = await setup();
  const { server, tallyman } = await openServer(t);
  await startShop(t, tallyman);
  const commandIds = await tallyman.commands.sendMany("orders", orders(70, 70));
  await expect.poll(() => tallyman.commands.tsq.count({}), { timeout: 20_000 }).toBe(70);
  const page = await openPage(t, browser(), `${server.url}/troubleshooting`);
  await untilLive(page);
  await page.getByRole("button", { name: "More" }).click();
  await troubledRow(page, /gateway refuses order 65 /).waitFor();
  const repaired = { domain: "orders", commandIds: commandIds.slice(65, 66) };
  await tallyman.commands.tsq.complete(repaired, { operator: "somebody else" });
  await troubledRow(page, /gateway refuses order 65 /).waitFor({ state: "detached" });
  await expect.poll(() => troubledRow(page, /gateway refuses order/).count()).toBe(69);
});

it("a list that can't be refreshed says so, and still shows what it has", async () => {
  await using t = await setup();
  const { server, tallyman } = await openServer(t);
  await tallyman.commands.createBatch("later", orders(1, 0), { name: "Early" });
  const page = await openPage(t, browser(), `${server.url}/batches`, { expectedErrors: /503/ });
  await untilLive(page);
  await page.getByText("Early").waitFor();
  await page.route("**/api/batches?*", away);
  await tallyman.commands.createBatch("later", orders(1, 0), { name: "Late" });
  const alert = page.getByRole("alert");
  await alert.getByText("This could not be refreshed").waitFor();
  await alert.getByText("The database is away.").waitFor();
  expect(await linksIn(page, "Batches")).toEqual(["Early"]);
  await page.unroute("**/api/batches?*");
  await tallyman.commands.createBatch("later", orders(1, 0), { name: "Later still" });
  await expect.poll(() => linksIn(page, "Batches")).toEqual(["Later still", "Late", "Early"]);
  await alert.waitFor({ state: "detached" });
});

it("what can't be refreshed is tried again when it is asked to", async () => {
  await using t = await setup();
  const { server, tallyman } = await openServer(t);
  const batchId = await tallyman.commands.createBatch("later", orders(1, 0), { name: "Open", open: true });
  const page = await openPage(t, browser(), "about:blank", { expectedErrors: /503|ERR_/ });
  // An event would try again too.
  await page.route("**/api/events?*", (route) => route.abort());
  await page.goto(`${server.url}/batches/${batchId}`);
  await page.getByRole("button", { name: "Seal" }).click();
  await page.route(`**/api/batches/${batchId}`, away);
  await confirm(page, "Seal");
  const alert = page.getByRole("alert");
  await alert.getByText("The database is away.").waitFor();
  await page.getByRole("button", { name: "Seal" }).waitFor();
  await page.unroute(`**/api/batches/${batchId}`);
  await alert.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("button", { name: "Seal" }).waitFor({ state: "detached" });
  await alert.waitFor({ state: "detached" });
});

it("a job that somebody else has removed is said to be missing", async () => {
  await using t = await setup();
  const { server, tallyman } = await openServer(t);
  await tallyman.scheduler.jobs.create("nightly", {
    schedule: { everyMs: 3_600_000 },
    command: { domain: "later", commandType: "Ship" },
  });
  const page = await openPage(t, browser(), `${server.url}/fleet?job=nightly`, { expectedErrors: /404/ });
  await untilLive(page);
  const sheet = page.getByRole("complementary");
  await sheet.getByText("every 1 h").waitFor();
  await tallyman.scheduler.jobs.remove("nightly");
  await sheet.getByRole("alert").getByText("There is no job 'nightly'.").first().waitFor();
  await sheet.getByText("every 1 h").waitFor();
});
