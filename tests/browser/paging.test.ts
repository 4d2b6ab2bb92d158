import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { createBatchCoordinator } from "../../src/coordination/index.ts";
import { setup, type TestContext } from "../../src/testing/index.ts";
import { openServer } from "../kit/api.ts";
import { openPipeline, runId } from "../kit/pipeline.ts";
import { openPage, orders, startShop, useBrowser } from "./stage.ts";

const browser = useBrowser();
const rows = 120;
const rowsPerPage = 50;

interface Listing {
  readonly url: URL;
  readonly items: number;
}

/** Every answer that is a page of a list. */
function watchLists(page: Page): Listing[] {
  const seen: Listing[] = [];
  page.on("response", async (response) => {
    if (!response.headers()["content-type"]?.startsWith("application/json")) return;
    const { data } = (await response.json().catch(() => ({}))) as { data?: { items?: unknown[] } };
    if (data?.items) seen.push({ url: new URL(response.url()), items: data.items.length });
  });
  return seen;
}

/** A server with more of everything than a page holds. */
async function openMuch(t: TestContext) {
  const opened = await openServer(t);
  const { commands, scheduler } = opened.tallyman;
  await startShop(t, opened.tallyman);
  const batchId = await commands.createBatch("orders", orders(rows, rows), { name: "Much" });
  await Promise.all(
    Array.from({ length: rows }, async (_, index) => {
      await commands.createBatch("later", orders(1, 0), { name: `Batch ${index}` });
      await scheduler.jobs.create(`job ${index}`, {
        schedule: { everyMs: 3_600_000 },
        command: { domain: "later", commandType: "Ship" },
      });
    }),
  );
  await openGaps(t);
  await expect.poll(() => commands.tsq.count({}), { timeout: 30_000 }).toBe(rows);
  return { ...opened, batchId };
}

/** Every other file of a run is missing, and every other of those that are there was given up. */
async function openGaps(t: TestContext) {
  const { writeMetadata } = await openPipeline(t);
  await writeMetadata(rows * 10 - 1);
  const coordinator = createBatchCoordinator(t.database);
  coordinator.setSimulationRun(runId);
  const ready = coordinator.setIndexerClass("Dummy");
  const files = Array.from({ length: rows / 2 }, (_, index) => {
    const name = `f${index}`;
    return { filename: name, storageKey: name, tickStart: index * 20, tickEnd: index * 20 + 9 };
  });
  await ready.registerFiles(files);
  for (const { filename, tickStart, tickEnd } of files) {
    await ready.tryClaim(filename, tickStart, tickEnd);
    await ready.markFailed(filename, "division by zero");
  }
  await ready.reconcileGaps({ samplingInterval: 1, declaredEnd: rows * 10 - 1 });
}

it("every list comes in pages: one is asked for, and the next only when somebody wants it", async () => {
  await using t = await setup();
  const { server, batchId } = await openMuch(t);
  const page = await openPage(t, browser(), "about:blank");
  const lists: readonly [path: string, region: string, route: string][] = [
    ["/batches", "Batches", "/api/batches"],
    [`/batches/${batchId}`, "Commands", `/api/batches/${batchId}/commands`],
    ["/troubleshooting", "Commands in troubleshooting", "/api/tsq"],
    ["/fleet", "Jobs", "/api/jobs"],
    ["/pipeline", "Gaps", `/api/runs/${runId}/gaps`],
    ["/pipeline", "Failed files", `/api/runs/${runId}/failed-files`],
    ["/audit?view=events", "Events of commands and batches", "/api/audit"],
  ];
  const seen = watchLists(page);
  const asked = (route: string) => seen.filter(({ url }) => url.pathname === route);
  /** Lengths of pages that are not the first; news may make a page be asked for again. */
  const further = (route: string) => {
    const pages = asked(route).map(({ url, items }) => [url.searchParams.get("cursor"), items] as const);
    return [...new Map(pages.filter(([cursor]) => cursor !== null)).values()];
  };
  for (const [path, name, route] of lists) {
    await page.goto(`${server.url}${path}`);
    const table = page.getByRole("region", { name, exact: true });
    await table.getByRole("row").nth(1).waitFor();
    await expect.poll(() => asked(route).length).toBeGreaterThan(0);
    const shown = await table.locator("tbody tr").count();
    expect({ route, shown }).toEqual({ route, shown: asked(route)[0]?.items });
    expect(further(route)).toEqual([]);
    await table.locator("xpath=following-sibling::div").getByRole("button", { name: "More" }).click();
    await expect.poll(() => table.locator("tbody tr").count()).toBe(2 * shown);
    await expect.poll(() => further(route)).toEqual([shown]);
  }
  for (const [, , route] of lists) expect(further(route)).toHaveLength(1);
  const careless = seen.filter(({ url, items }) => !(items <= Number(url.searchParams.get("limit"))));
  expect(careless.map(({ url }) => url.href)).toEqual([]);
  expect(Math.max(...seen.map(({ items }) => items))).toBe(rowsPerPage);
});
