import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { createServer } from "../../src/server/index.ts";
import { setup } from "../../src/testing/index.ts";
import { openServer } from "../kit/api.ts";
import { openPage, orders, untilLive, useBrowser } from "./stage.ts";

const browser = useBrowser();

it("tells how it is connected: live, paused, lost, and live again", async () => {
  await using t = await setup();
  const { server, tallyman } = await openServer(t);
  const page = await openPage(t, browser(), `${server.url}/`, { expectedErrors: /ERR_|503/ });
  await untilLive(page);
  await page.getByRole("button", { name: "Pause", exact: true }).click();
  await page.getByText("Paused", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Resume", exact: true }).click();
  await untilLive(page);
  const { port } = server;
  await server.stop();
  await page.getByText("Connection lost").waitFor();
  const next = t.use(createServer(tallyman, { port }));
  await next.start();
  await untilLive(page);
});

/** Browsers in tests always have the focus and are never hidden: this says otherwise. */
async function pretend(page: Page, { isHidden = false, hasFocus = true }) {
  await page.evaluate(
    `Object.defineProperty(document, "hidden", { value: ${isHidden}, configurable: true });
     document.hasFocus = () => ${hasFocus};
     document.dispatchEvent(new Event("visibilitychange"));
     window.dispatchEvent(new Event("${hasFocus ? "focus" : "blur"}"))`,
  );
}

it("pauses at once while it is hidden, and then shows what has happened", async () => {
  await using t = await setup();
  const { server, tallyman } = await openServer(t);
  const page = await openPage(t, browser(), `${server.url}/batches`);
  await untilLive(page);
  await pretend(page, { isHidden: true });
  await page.getByText("Paused in the background").waitFor();
  await tallyman.commands.createBatch("orders", orders(1, 0), { name: "Unseen" });
  await pretend(page, { isHidden: false });
  await untilLive(page);
  await page.getByText("Unseen").waitFor();
});

it("pauses when it has been without the focus for half a minute, until it is looked at again", async () => {
  await using t = await setup();
  const { server, tallyman } = await openServer(t);
  const page = await openPage(t, browser(), "about:blank");
  await page.clock.install();
  await page.goto(`${server.url}/batches`);
  await untilLive(page);
  await pretend(page, { hasFocus: false });
  await page.clock.fastForward(20_000);
  await untilLive(page);
  await tallyman.commands.createBatch("orders", orders(1, 0), { name: "Seen" });
  await page.getByText("Seen").waitFor();
  await page.clock.fastForward(11_000);
  await page.getByText("Paused without focus").waitFor();
  await tallyman.commands.createBatch("orders", orders(1, 0), { name: "Unseen" });
  await pretend(page, { hasFocus: true });
  await untilLive(page);
  await page.getByText("Unseen").waitFor();
  await page.clock.fastForward(60_000);
  await untilLive(page);
});

it("the pointer wakes a window that has no focus", async () => {
  await using t = await setup();
  const { server } = await openServer(t);
  const page = await openPage(t, browser(), "about:blank");
  await page.clock.install();
  await page.goto(`${server.url}/`);
  await untilLive(page);
  await pretend(page, { hasFocus: false });
  await page.clock.fastForward(31_000);
  await page.getByText("Paused without focus").waitFor();
  await page.evaluate("document.documentElement.dispatchEvent(new Event('pointerenter'))");
  await untilLive(page);
  expect(await page.evaluate("document.hasFocus()")).toBe(false);
});
