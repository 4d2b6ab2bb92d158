import { expect, it } from "vitest";
import { deferred } from "../../src/runtime/index.ts";
import { setup } from "../../src/testing/index.ts";
import { openServer } from "../kit/api.ts";
import { confirm, openPage, orders, startShop, troubledRow, untilLive, useBrowser } from "./stage.ts";

const browser = useBrowser();

it("a failed command is retried from the page, and the batch completes before one's eyes", async () => {
  await using t = await setup();
  const { tallyman, server } = await openServer(t);
  const { mend } = await startShop(t, tallyman);
  const page = await openPage(t, browser(), `${server.url}/batches`);
  await page.getByText("No batch yet").waitFor();
  await untilLive(page);
  await tallyman.commands.createBatch("orders", orders(20, 3), { name: "Evening shipment" });
  await page.getByRole("link", { name: "3 in troubleshooting" }).waitFor();
  await page.getByRole("link", { name: "Evening shipment" }).click();
  await page.getByText("blocked by").waitFor();
  const progress = () => page.getByRole("progressbar").first().getAttribute("aria-valuenow");
  await expect.poll(progress).toBe("85");
  await page.getByRole("link", { name: "3 in troubleshooting" }).click();
  await troubledRow(page, /gateway refuses order 0/).click();
  mend();
  const sheet = page.getByRole("complementary");
  await sheet.getByText('"item": 0').waitFor();
  await sheet.getByRole("button", { name: "Retry …" }).click();
  await page.getByText("1 command would change.").waitFor();
  await confirm(page, "Retry", "gateway is back");
  await page.getByText("1 command sent back to the workers.").waitFor();
  await sheet.getByText("completed", { exact: true }).first().waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Retry …" }).click();
  await page.getByText("2 commands would change.").waitFor();
  await confirm(page, "Retry");
  await page.getByText("Nothing waits for you").waitFor();
  await page.goBack();
  await page.getByText(/^took/).waitFor();
  await expect.poll(progress).toBe("100");
  await page.getByText("batch completed").waitFor();
});

it("a batch is cancelled with a preview, and the commands are shown by state", async () => {
  await using t = await setup();
  const { tallyman, server } = await openServer(t);
  const batchId = await tallyman.commands.createBatch("orders", orders(120, 0), { name: "Too many" });
  const page = await openPage(t, browser(), `${server.url}/batches/${batchId}`);
  await page.getByRole("button", { name: "More" }).click();
  await expect.poll(() => page.locator("tbody tr").count()).toBe(100);
  await page.getByRole("button", { name: "Cancel batch …" }).click();
  await page.getByText("120 commands would be cancelled.").waitFor();
  await confirm(page, "Cancel batch");
  await page.getByText("120 commands cancelled.").waitFor();
  await page.getByRole("button", { name: "120 Cancelled" }).click();
  await expect.poll(() => page.url()).toContain("status=CANCELED");
  await page.getByRole("cell", { name: "canceled", exact: true }).first().waitFor();
  await page.getByRole("button", { name: "0 Failed" }).click();
  await page.getByText("No command in this state").waitFor();
  expect(await page.getByRole("button", { name: "Cancel batch …" }).isDisabled()).toBe(true);
});

it("filters are in the address, and survive a reload", async () => {
  await using t = await setup();
  const { tallyman, server } = await openServer(t);
  await tallyman.commands.createBatch("orders", orders(1, 0), { name: "Orders only" });
  await tallyman.commands.createBatch("invoices", orders(1, 0), { name: "Invoices only" });
  const page = await openPage(t, browser(), `${server.url}/batches`);
  await page.getByText("Invoices only").waitFor();
  await page.getByLabel("Domain").selectOption("orders");
  await page.getByText("Invoices only").waitFor({ state: "detached" });
  await page.reload();
  await page.getByText("Orders only").waitFor();
  expect(await page.getByText("Invoices only").count()).toBe(0);
  await page.getByLabel("State").selectOption("COMPLETED");
  await page.getByText("No batch matches").waitFor();
});

it("a domain in which nothing happens is named by the filter that the address has", async () => {
  await using t = await setup();
  const { server } = await openServer(t);
  const page = await openPage(t, browser(), "about:blank");
  for (const path of ["/batches", "/troubleshooting"]) {
    await page.goto(`${server.url}${path}?domain=imports`);
    await page.getByText(/No (batch|command) matches$/).waitFor();
    expect(await page.getByLabel("Domain").inputValue()).toBe("imports");
    await page.getByLabel("Domain").selectOption("All");
    await expect.poll(() => page.url()).toBe(`${server.url}${path}`);
  }
});

it("the pace of a batch is told only of what the page has watched", async () => {
  await using t = await setup();
  const { tallyman, server } = await openServer(t);
  const gates = Array.from({ length: 4 }, () => deferred());
  const open = (index: number) => gates[index]?.resolve();
  const worker = t.use(tallyman.commands.worker({ domain: "orders", pollIntervalMs: 50, concurrency: 40 }));
  worker.handle("Ship", ({ data }) => gates[Math.floor((data as { item: number }).item / 10)]?.promise);
  await worker.start();
  t.use({ [Symbol.asyncDispose]: async () => gates.forEach((_, index) => void open(index)) });
  const batchId = await tallyman.commands.createBatch("orders", orders(40, 0), { name: "Slow" });
  const page = await openPage(t, browser(), "about:blank");
  await page.clock.install();
  await page.goto(`${server.url}/batches/${batchId}`);
  await untilLive(page);
  open(0);
  await page.getByRole("button", { name: "10 Completed" }).waitFor();
  await page.clock.fastForward(2_000);
  open(1);
  await page.getByText(/per second, ends about/).waitFor();
  await page.getByRole("button", { name: "Pause", exact: true }).click();
  await page.clock.fastForward(31_000);
  await page.getByText("pace not known without live updates").waitFor();
  open(2);
  await expect
    .poll(() => tallyman.commands.getBatch("orders", batchId), { timeout: 10_000 })
    .toMatchObject({ completedCount: 30 });
  // What came about unseen must not look like the work of the seconds until it is read.
  const late = deferred();
  await page.route(`**/api/batches/${batchId}`, (route) => late.promise.then(() => route.continue()));
  await page.getByRole("button", { name: "Resume", exact: true }).click();
  await untilLive(page);
  await page.clock.fastForward(2_000);
  late.resolve();
  await page.getByRole("button", { name: "30 Completed" }).waitFor();
  await page.getByText("no progress at present").waitFor();
  open(3);
  await page.getByText(/^took/).waitFor();
});

it("an open batch is sealed", async () => {
  await using t = await setup();
  const { tallyman, server, client } = await openServer(t);
  const batchId = await tallyman.commands.createBatch("orders", orders(1, 0), { name: "Open", open: true });
  const page = await openPage(t, browser(), `${server.url}/batches/${batchId}`);
  await page.getByRole("button", { name: "Seal" }).click();
  await confirm(page, "Seal", "all are here");
  await page.getByText("The batch is sealed.").waitFor();
  expect(await tallyman.commands.getBatch("orders", batchId)).toMatchObject({ isSealed: true });
  const { items } = await client.call("GET /api/actions");
  expect(items).toMatchObject([{ action: "batch.seal", reason: "all are here" }]);
});

it("a batch that does not exist is said to be missing", async () => {
  await using t = await setup();
  const { server } = await openServer(t);
  const missing = "00000000-0000-7000-8000-000000000000";
  const page = await openPage(t, browser(), `${server.url}/batches/${missing}`, { expectedErrors: /404/ });
  await page.getByText(`There is no batch ${missing}.`).waitFor();
});
