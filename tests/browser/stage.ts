import type { Browser, BrowserContextOptions, Locator, Page } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import type { Tallyman } from "../../src/app/index.ts";
import { PermanentError } from "../../src/commands/index.ts";
import { logger } from "../../src/runtime/index.ts";
import type { TestContext } from "../../src/testing/index.ts";
import { launchChromium } from "./chromium.ts";

/** What is logged as an error fails the test. */
const log = logger("browser");

/** Longest wait for something to appear on a page. */
const waitMs = 45_000;

/** A browser for the tests of one file. */
export function useBrowser(): () => Browser {
  let browser: Browser | undefined;
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser?.close());
  return () => {
    if (!browser) throw new Error("The browser has not started.");
    return browser;
  };
}

/** How a page differs from the usual. */
export interface PageOptions extends BrowserContextOptions {
  /** Messages of the console that the test brings about. */
  readonly expectedErrors?: RegExp;
}

/**
 * Opens an address in a browser of its own, closed with the test. An error on the page that the test does not expect
 * fails it, among them all violations of the Content-Security-Policy.
 */
export async function openPage(
  t: TestContext,
  browser: Browser,
  url: string,
  { expectedErrors, ...options }: PageOptions = {},
): Promise<Page> {
  const context = await browser.newContext({
    locale: "en-GB",
    viewport: { width: 1440, height: 900 },
    ...options,
  });
  t.use({ [Symbol.asyncDispose]: () => context.close() });
  const page = await context.newPage();
  page.setDefaultTimeout(waitMs);
  page.on("pageerror", ({ message }) => log.error(message));
  page.on("console", (message) => {
    if (message.type() === "error" && !expectedErrors?.test(message.text())) log.error(message.text());
  });
  await page.goto(url);
  return page;
}

/** Waits until the page is connected and told of changes. */
export async function untilLive(page: Page): Promise<void> {
  await page.locator(".connection-live").waitFor();
}

/** The row of a command in the troubleshooting queue; groups have the same texts. */
export function troubledRow(page: Page, name: string | RegExp): Locator {
  return page.getByRole("region", { name: "Commands in troubleshooting" }).getByRole("row", { name });
}

/** Confirms the dialog that is open, with a reason. */
export async function confirm(page: Page, button: string, reason = "the test says so"): Promise<void> {
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Reason").fill(reason);
  await dialog.getByRole("button", { name: button, exact: true }).click();
  await dialog.waitFor({ state: "detached" });
}

/** A worker whose handler fails for data that says so, until it is mended. */
export async function startShop(t: TestContext, tallyman: Tallyman, domain = "orders") {
  const state = { isBroken: true };
  const worker = t.use(tallyman.commands.worker({ domain, pollIntervalMs: 50, backoffMs: [0] }));
  worker.handle("Ship", ({ data }) => {
    const { item, fails } = data as { item: number; fails?: string };
    if (state.isBroken && fails) throw new PermanentError(`${fails} ${item}`);
    return { shipped: item };
  });
  await worker.start();
  return { mend: () => Object.assign(state, { isBroken: false }) };
}

/** Commands for the shop, of which the first few fail. */
export function orders(count: number, failing: number, fails = "gateway refuses order") {
  return Array.from({ length: count }, (_, item) => ({
    commandType: "Ship",
    data: { item, ...(item < failing && { fails }) },
  }));
}
