/**
 * Pictures of the dashboard for the documentation, of a fleet at work: `npm run screenshots` writes docs/images/*.png.
 * It lets the demo's fleet live for a while on a database of its own, so that every screen has something to show.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { build } from "vite";
import { Tallyman } from "../src/app/index.ts";
import { LivingFleet } from "../src/cli/demo/living-fleet.ts";
import { TallymanClient } from "../src/client/index.ts";
import { configureLogging, sleep } from "../src/runtime/index.ts";
import { launchChromium } from "../tests/browser/chromium.ts";
import { FaultyRun } from "./faulty-run.ts";

const folder = "docs/images";
/** Long enough for curves of the last hour that are more than a line. */
const lifeMs = 90_000;
const settleMs = 1_500;
const wide = { width: 1440, height: 900 };
const narrow = { width: 360, height: 740 };

/** A picture: its name, what it shows, and what to do first. */
interface Shot {
  readonly name: string;
  readonly path: string;
  readonly prepare?: (page: Page) => Promise<void>;
}

async function shotsOf(url: string, faultyRunId: string): Promise<Shot[]> {
  const client = new TallymanClient({ url });
  const { items: batches } = await client.call("GET /api/batches", { query: { status: "IN_PROGRESS" } });
  const running = batches.find(({ inTroubleshootingCount }) => inTroubleshootingCount > 0) ?? batches[0];
  const openGroup = async (page: Page) => {
    await page.locator("[data-row]").first().click();
    await page.locator("input[type=checkbox]").nth(2).check();
    await page.locator("[data-row] .mono").first().click();
  };
  return [
    { name: "overview", path: "/" },
    { name: "batches", path: "/batches" },
    { name: "batch", path: `/batches/${running?.batchId}` },
    { name: "troubleshooting", path: "/troubleshooting", prepare: openGroup },
    { name: "pipeline", path: `/pipeline?run=${faultyRunId}` },
    { name: "world", path: "/world" },
    { name: "fleet", path: "/fleet" },
    { name: "audit", path: "/audit" },
  ];
}

/** Does what operators do, for the audit to tell of. */
async function operate(url: string): Promise<void> {
  const client = new TallymanClient({ url });
  const params = { domain: "billing" };
  await client.call("POST /api/domains/:domain/pause", {
    params,
    body: { reason: "address book is being cleaned" },
  });
  await client.call("POST /api/domains/:domain/resume", {
    params,
    body: { reason: "address book is clean" },
  });
  const [group] = await client.call("GET /api/tsq/groups");
  if (!group) return;
  const { domain, commandType, errorSignature } = group;
  const matching = { domain, commandType, errorSignature };
  await client.call("POST /api/tsq/retry", { body: { matching, reason: "gateway is back" } });
}

async function take(page: Page, url: string, { name, path, prepare }: Shot): Promise<void> {
  await page.goto(`${url}${path}`);
  await page.locator(".connection-live").waitFor();
  await page.waitForTimeout(settleMs);
  await prepare?.(page);
  await page.waitForTimeout(settleMs);
  await page.screenshot({ path: join(folder, `${name}.png`) });
  console.log(`${folder}/${name}.png`);
}

async function takeAll(url: string, faultyRunId: string): Promise<void> {
  const browser = await launchChromium();
  const shots = await shotsOf(url, faultyRunId);
  const views = [
    { options: { viewport: wide, colorScheme: "light" as const }, shots },
    {
      options: { viewport: wide, colorScheme: "dark" as const },
      shots: [{ name: "overview-dark", path: "/" }],
    },
    { options: { viewport: narrow }, shots: [{ name: "overview-narrow", path: "/" }] },
  ];
  for (const { options, shots: some } of views) {
    const context = await browser.newContext({ locale: "en-GB", ...options });
    const page = await context.newPage();
    for (const shot of some) await take(page, url, shot);
  }
  await browser.close();
}

configureLogging({ level: "warn" });
mkdirSync(folder, { recursive: true });
await build({ root: "dashboard", configFile: "dashboard/vite.config.ts", logLevel: "warn" });
const place = mkdtempSync(join(tmpdir(), "tallyman-screenshots-"));
{
  await using tallyman = await Tallyman.embedded({ folder: join(place, "postgres") });
  await using fleet = await LivingFleet.start(tallyman, { port: 0 });
  await using faulty = await FaultyRun.start(tallyman, join(place, "ticks"));
  await sleep(lifeMs / 2);
  await operate(fleet.url);
  await faulty.goOn();
  await sleep(lifeMs / 2);
  await takeAll(fleet.url, faulty.runId);
}
rmSync(place, { recursive: true, force: true });
