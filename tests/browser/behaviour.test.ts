import { readdir, readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import axe from "axe-core";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { setup, type TestContext } from "../../src/testing/index.ts";
import { openServer } from "../kit/api.ts";
import { openPage, orders, startShop, troubledRow, useBrowser } from "./stage.ts";

const browser = useBrowser();
const screens = ["/", "/batches", "/troubleshooting", "/pipeline", "/world", "/fleet", "/audit", "/access"];
const bundleBytesMax = 150_000;

/** A server with some of everything that needs no time to come about. */
async function openSome(t: TestContext) {
  const opened = await openServer(t);
  const { tallyman } = opened;
  await startShop(t, tallyman);
  await tallyman.commands.createBatch("orders", orders(30, 2), { name: "Evening shipment" });
  await tallyman.scheduler.jobs.create("nightly", {
    schedule: { cron: "0 3 * * *", timeZone: "UTC" },
    command: { domain: "orders", commandType: "Ship", data: { item: 1 } },
  });
  await tallyman.scheduler.fleet.register("worker-1", { cap: null, heartbeatTimeoutMs: 60_000 });
  await expect.poll(() => tallyman.commands.tsq.count({}), { timeout: 20_000 }).toBe(2);
  return opened;
}

/** Waits until no part of the screen waits for data. */
async function untilLoaded(page: Page): Promise<void> {
  await page.getByRole("heading", { level: 1 }).waitFor();
  await expect.poll(() => page.locator(".spinner").count(), { timeout: 15_000 }).toBe(0);
}

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** What axe calls serious or critical. */
async function seriousFaults(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const violations = (await page.evaluate(
    "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)",
  )) as Violation[];
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`);
}

it.each(["light", "dark"] as const)(
  "axe finds nothing serious on any screen, %s",
  async (colorScheme) => {
    await using t = await setup();
    const { server } = await openSome(t);
    const page = await openPage(t, browser(), `${server.url}/`, { colorScheme });
    for (const path of [...screens, "/audit?view=events"]) {
      await page.goto(`${server.url}${path}`);
      await untilLoaded(page);
      expect({ path, faults: await seriousFaults(page) }).toEqual({ path, faults: [] });
    }
    await page.goto(`${server.url}/troubleshooting`);
    await troubledRow(page, /gateway refuses order 0/).click();
    await page.getByRole("complementary").getByText('"item": 0').waitFor();
    expect(await seriousFaults(page)).toEqual([]);
    await page.getByRole("complementary").getByRole("button", { name: "Cancel …" }).click();
    await page.getByText("1 command would change.").waitFor();
    expect(await seriousFaults(page)).toEqual([]);
    await page.goto(`${server.url}/fleet`);
    await page.getByRole("button", { name: "Add job …" }).click();
    await page.getByLabel("Data as JSON").waitFor();
    expect(await seriousFaults(page)).toEqual([]);
  },
  180_000,
);

it("is dark when the system is", async () => {
  await using t = await setup();
  const { server } = await openServer(t);
  const grounds = [];
  for (const colorScheme of ["light", "dark"] as const) {
    const page = await openPage(t, browser(), `${server.url}/`, { colorScheme });
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    grounds.push(await page.evaluate("getComputedStyle(document.body).backgroundColor"));
  }
  expect(grounds).toEqual(["rgb(246, 247, 248)", "rgb(15, 20, 23)"]);
});

it("fits a narrow screen: nothing but tables scrolls sideways", async () => {
  await using t = await setup();
  const { server } = await openSome(t);
  const page = await openPage(t, browser(), `${server.url}/`, { viewport: { width: 360, height: 740 } });
  for (const path of screens) {
    await page.goto(`${server.url}${path}`);
    await untilLoaded(page);
    const width = await page.evaluate("document.documentElement.scrollWidth");
    expect({ path, width }).toEqual({ path, width: 360 });
  }
});

it("is worked by keyboard alone: screens, rows, sheet, dialog, help", async () => {
  await using t = await setup();
  const { server, tallyman } = await openSome(t);
  const page = await openPage(t, browser(), `${server.url}/`);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  const press = async (...keys: string[]) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  await press("?");
  await page.getByRole("dialog", { name: "Keys" }).getByText("next, previous row").waitFor();
  await press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await press("g", "b");
  await page.getByRole("heading", { name: "Batches", level: 1 }).waitFor();
  await page.getByRole("link", { name: "Evening shipment" }).waitFor();
  await press("j", "Enter");
  await page.getByRole("heading", { name: "Evening shipment", level: 1 }).waitFor();
  await page.getByText("blocked by").waitFor();
  await press("g", "t");
  await troubledRow(page, /gateway refuses order 1/).waitFor();
  await press("/");
  expect(await page.evaluate("document.activeElement.name")).toBe("domain");
  await press("Tab", "j", "j", "j", "k", "x");
  await page.getByText("1 selected").waitFor();
  await press("Enter");
  await page.getByRole("complementary").getByText('"item"').waitFor();
  await press("Escape");
  await page.getByRole("complementary").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Complete …" }).focus();
  await press("Enter");
  await page.getByText("1 command would change.").waitFor();
  await page.keyboard.type("by hand");
  await press("Enter");
  await page.getByText("1 command completed by hand.").waitFor();
  expect(await tallyman.commands.tsq.count({})).toBe(1);
});

it("heeds keys from the moment a dialog closes, while the browser still has its focus there", async () => {
  await using t = await setup();
  const { server } = await openServer(t);
  const page = await openPage(t, browser(), `${server.url}/`);
  await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  await page.evaluate(`
    document.querySelector("dialog").close();
    for (const key of ["g", "b"])
      document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  `);
  await page.getByRole("heading", { name: "Batches", level: 1 }).waitFor();
});

it("says what could not be loaded, and loads it when it is asked to", async () => {
  await using t = await setup();
  const { server } = await openSome(t);
  const page = await openPage(t, browser(), "about:blank", { expectedErrors: /503|ERR_/ });
  // An event would try again before anybody can.
  await page.route("**/api/events?*", (route) => route.abort());
  await page.route("**/api/batches?*", (route) =>
    route.fulfill({
      status: 503,
      json: { success: false, error: { code: "DATABASE_UNREACHABLE", message: "The database is away." } },
    }),
  );
  await page.goto(`${server.url}/batches`);
  await page.getByRole("alert").getByText("The database is away.").waitFor();
  await page.unroute("**/api/batches?*");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("Evening shipment").waitFor();
});

it("addresses of screens are the page; unknown ones say so; the API's stay the API's", async () => {
  await using t = await setup();
  const { server } = await openServer(t);
  const page = await openPage(t, browser(), `${server.url}/nothing/here`);
  await page.getByText("There is no such screen").waitFor();
  const html = { headers: { accept: "text/html" } };
  expect((await fetch(`${server.url}/api/nothing`, html)).status).toBe(404);
  expect((await fetch(`${server.url}/assets/nothing.js`, html)).status).toBe(404);
  expect((await fetch(`${server.url}/nothing`)).status).toBe(404);
});

it("is small", async () => {
  const files = await readdir("dist/dashboard", { recursive: true, withFileTypes: true });
  const sizes = files
    .filter((file) => file.isFile())
    .map(async ({ parentPath, name }) => gzipSync(await readFile(`${parentPath}/${name}`)).length);
  const total = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  expect(total).toBeLessThan(bundleBytesMax);
});
