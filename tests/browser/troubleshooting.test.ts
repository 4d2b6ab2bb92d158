import { expect, it } from "vitest";
import { setup, type TestContext } from "../../src/testing/index.ts";
import { openServer } from "../kit/api.ts";
import { confirm, openPage, orders, startShop, troubledRow, untilLive, useBrowser } from "./stage.ts";

const browser = useBrowser();

/** A shop with five failures of one kind and two of another. */
async function openTrouble(t: TestContext) {
  const opened = await openServer(t);
  const { tallyman } = opened;
  await startShop(t, tallyman);
  await tallyman.commands.createBatch("orders", orders(5, 5), { name: "Refused" });
  await tallyman.commands.createBatch("orders", orders(2, 2, "no address for"), { name: "Homeless" });
  await expect.poll(() => tallyman.commands.tsq.count({}), { timeout: 20_000 }).toBe(7);
  return opened;
}

it("groups by kind of error; a group's selected commands are completed, the rest of it cancelled", async () => {
  await using t = await setup();
  const { tallyman, server, client } = await openTrouble(t);
  const page = await openPage(t, browser(), `${server.url}/troubleshooting`);
  await page.getByText("7 commands in 2 groups").waitFor();
  await page.getByRole("button", { name: /gateway refuses order/ }).click();
  await page.getByText("Commands of this group").waitFor();
  await expect.poll(() => page.locator("tbody input[type=checkbox]").count()).toBe(5);
  await page.locator("tbody input[type=checkbox]").nth(0).check();
  await page.locator("tbody input[type=checkbox]").nth(1).check();
  await page.getByText("2 selected").waitFor();
  await page.getByRole("button", { name: "Complete …" }).click();
  await page.getByText("2 commands would change.").waitFor();
  await confirm(page, "Complete", "shipped by hand");
  await page.getByText("2 commands completed by hand.").waitFor();
  await page.getByText("All matching").waitFor();
  await page.getByRole("button", { name: "Cancel …" }).click();
  await page.getByText("3 commands would change.").waitFor();
  await confirm(page, "Cancel", "not any more");
  await page.getByText("3 commands cancelled.").waitFor();
  await page.getByText("2 commands in 1 group").waitFor();
  expect(await tallyman.commands.tsq.count({})).toBe(2);
  const { items } = await client.call("GET /api/actions");
  expect(items.slice(0, 2)).toMatchObject([
    { action: "tsq.cancel", changed: 3, reason: "not any more" },
    { action: "tsq.complete", changed: 2, reason: "shipped by hand" },
  ]);
  await page.getByRole("link", { name: "Audit" }).click();
  await page.getByRole("row", { name: /tsq.cancel.*not any more/ }).waitFor();
  await page.getByLabel("What").fill("tsq.complete");
  await page.keyboard.press("Enter");
  await page.getByRole("row", { name: /tsq.cancel/ }).waitFor({ state: "detached" });
  await page.getByRole("link", { name: "Commands and batches" }).click();
  await page.getByText("operator complete").first().waitFor();
});

it("shows payload, error, attempts and history of a command", async () => {
  await using t = await setup();
  const { server } = await openTrouble(t);
  const page = await openPage(t, browser(), `${server.url}/troubleshooting`);
  await troubledRow(page, /no address for 1/).click();
  const sheet = page.getByRole("complementary");
  await sheet.getByText('"item": 1').waitFor();
  await sheet.getByLabel("Error").getByText("no address for 1").waitFor();
  await sheet.getByText("1, 0 lost leases").waitFor();
  await sheet.getByText("moved to troubleshooting").waitFor();
  await page.reload();
  await sheet.getByText('"item": 1').waitFor();
});

it("an action that the server refuses says so, and changes nothing", async () => {
  await using t = await setup();
  const { tallyman, server } = await openTrouble(t);
  const page = await openPage(t, browser(), `${server.url}/troubleshooting`, { expectedErrors: /500|503/ });
  await page.route("**/api/tsq/retry", (route) =>
    route.fulfill({
      status: 503,
      json: { success: false, error: { code: "DATABASE_UNREACHABLE", message: "The database is away." } },
    }),
  );
  await page.getByRole("button", { name: "Retry …" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Retry", exact: true }).click();
  await page.getByRole("dialog").getByText("The database is away.").waitFor();
  expect(await tallyman.commands.tsq.count({})).toBe(7);
});

it("two browsers see what one of them does", async () => {
  await using t = await setup();
  const { server } = await openTrouble(t);
  const [first, second] = [
    await openPage(t, browser(), `${server.url}/troubleshooting`),
    await openPage(t, browser(), `${server.url}/`),
  ];
  await second.getByRole("link", { name: /7 commands in troubleshooting/ }).waitFor();
  await untilLive(second);
  await first.getByRole("button", { name: "Complete …" }).click();
  await confirm(first, "Complete");
  await second.getByText("Nothing needs you").waitFor();
});
