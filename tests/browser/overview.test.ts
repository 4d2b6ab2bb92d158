import { expect, it } from "vitest";
import { setup } from "../../src/testing/index.ts";
import { openServer } from "../kit/api.ts";
import { confirm, openPage, orders, startShop, untilLive, useBrowser } from "./stage.ts";

const browser = useBrowser();

it("what is said about a paused domain leads to the switch that resumes it", async () => {
  await using t = await setup();
  const { server, client } = await openServer(t);
  await client.call("POST /api/domains/:domain/pause", { params: { domain: "orders" } });
  const viewport = { width: 1200, height: 500 };
  const page = await openPage(t, browser(), `${server.url}/`, { viewport });
  const resume = page.getByRole("button", { name: "Resume orders" });
  await resume.waitFor();
  const isInView = async () => ((await resume.boundingBox())?.y ?? viewport.height) < viewport.height;
  await expect.poll(isInView).toBe(false);
  await page.getByRole("link", { name: /Paused: orders/ }).click();
  await expect.poll(isInView).toBe(true);
  await page.getByRole("link", { name: "Batches", exact: true }).click();
  await page.getByRole("heading", { name: "Batches", level: 1 }).waitFor();
});

it("a domain is paused: its commands wait; it is resumed, and they are carried out", async () => {
  await using t = await setup();
  const { tallyman, server, client } = await openServer(t);
  await startShop(t, tallyman);
  await tallyman.commands.createBatch("orders", orders(1, 0), { name: "First" });
  const page = await openPage(t, browser(), `${server.url}/`);
  await untilLive(page);
  await page.getByRole("row", { name: /orders running 0 0 0 0/ }).waitFor();
  await page.getByRole("button", { name: "Pause orders" }).click();
  await confirm(page, "Pause", "the store is full");
  await page.getByText("orders is paused.").waitFor();
  const batchId = await tallyman.commands.createBatch("orders", orders(5, 0), { name: "Second" });
  await page.getByRole("row", { name: /orders paused 5 0 0 0/ }).waitFor();
  await page.getByRole("button", { name: "Resume orders" }).click();
  await confirm(page, "Resume");
  await page.getByText("orders is running again.").waitFor();
  await page.getByRole("row", { name: /orders running 0 0 0 0/ }).waitFor();
  expect(await tallyman.commands.getBatch("orders", batchId)).toMatchObject({ status: "COMPLETED" });
  const { items } = await client.call("GET /api/actions");
  expect(items).toMatchObject([
    { action: "domain.resume" },
    { action: "domain.pause", reason: "the store is full" },
  ]);
});
