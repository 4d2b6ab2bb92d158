import { expect, it } from "vitest";
import { deferred } from "../../src/runtime/index.ts";
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

it("what comes back while all are retried is not retried again", async () => {
  await using t = await setup();
  const { server } = await openTrouble(t);
  const page = await openPage(t, browser(), `${server.url}/troubleshooting`);
  let calls = 0;
  await page.route("**/api/tsq/retry", (route) => {
    calls += 1;
    return route.fulfill({ json: { success: true, data: { changed: 4, remaining: 7 } } });
  });
  await page.getByRole("button", { name: "Retry …" }).click();
  await page.getByText("7 commands would change.").waitFor();
  await confirm(page, "Retry");
  await page.getByText("8 commands sent back to the workers.").waitFor();
  expect(calls).toBe(2);
});

it("selected commands that somebody else has repaired never make an action one on all", async () => {
  await using t = await setup();
  const { server, tallyman } = await openTrouble(t);
  const page = await openPage(t, browser(), `${server.url}/troubleshooting`);
  await untilLive(page);
  const tick = (name: RegExp) => troubledRow(page, name).getByRole("checkbox").check();
  for (const name of [/refuses order 1/, /refuses order 2/]) await tick(name);
  await page.getByText("2 selected").waitFor();
  const repair = async (item: number) => {
    const commands = await tallyman.commands.tsq.list();
    const found = commands.filter(({ errorMessage }) => errorMessage === `gateway refuses order ${item}`);
    const commandIds = found.map(({ commandId }) => commandId);
    await tallyman.commands.tsq.complete({ domain: "orders", commandIds }, { operator: "somebody else" });
  };
  await repair(1);
  await page.getByText("1 selected command is no longer here.").waitFor();
  await page.getByRole("button", { name: "Cancel …" }).click();
  await page.getByText("1 command would change.").waitFor();
  await page.getByRole("button", { name: "Keep as it is" }).click();
  await repair(2);
  await page.getByText("2 selected commands are no longer here.").waitFor();
  expect(await page.getByText("All matching").count()).toBe(0);
  expect(await page.getByRole("button", { name: "Cancel …" }).isDisabled()).toBe(true);
  await page.getByRole("button", { name: "Select none" }).click();
  await page.getByText("All matching").waitFor();
  expect(await tallyman.commands.tsq.count({})).toBe(5);
});

it("a dialog stays while its action runs, and then says how it ended", async () => {
  await using t = await setup();
  const { server } = await openTrouble(t);
  const page = await openPage(t, browser(), `${server.url}/troubleshooting`, { expectedErrors: /503/ });
  const answer = deferred();
  await page.route("**/api/tsq/retry", async (route) => {
    await answer.promise;
    const error = { code: "DATABASE_UNREACHABLE", message: "The database is away." };
    await route.fulfill({ status: 503, json: { success: false, error } });
  });
  await page.getByRole("button", { name: "Retry …" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("7 commands would change.").waitFor();
  await dialog.getByRole("button", { name: "Retry", exact: true }).click();
  await dialog.getByText("Working …").waitFor();
  expect(await dialog.getByRole("button", { name: "Keep as it is" }).isDisabled()).toBe(true);
  for (let times = 0; times < 3; times += 1) await page.keyboard.press("Escape");
  answer.resolve();
  await dialog.getByText("The database is away.").waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
});

it("commands of two domains that have the same id are two rows", async () => {
  await using t = await setup();
  const { server, tallyman } = await openServer(t);
  const commandId = "0190e5a2-0000-7000-8000-000000000001";
  for (const domain of ["orders", "returns"]) {
    await startShop(t, tallyman, domain);
    await tallyman.commands.send(domain, "Ship", { commandId, data: { item: 1, fails: `${domain} refuse` } });
  }
  await expect.poll(() => tallyman.commands.tsq.count({}), { timeout: 20_000 }).toBe(2);
  const page = await openPage(t, browser(), `${server.url}/troubleshooting`);
  await troubledRow(page, /returns refuse/)
    .getByRole("checkbox")
    .check();
  await page.getByText("1 selected").waitFor();
  expect(
    await troubledRow(page, /orders refuse/)
      .getByRole("checkbox")
      .isChecked(),
  ).toBe(false);
  await troubledRow(page, /orders refuse/).click();
  await page.getByRole("complementary").getByLabel("Error").getByText("orders refuse 1").waitFor();
  expect(await page.locator(".row-open").count()).toBe(1);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Complete …" }).click();
  await page.getByText("1 command would change.").waitFor();
  await confirm(page, "Complete");
  await troubledRow(page, /returns refuse/).waitFor({ state: "detached" });
  expect((await tallyman.commands.tsq.list()).map(({ domain }) => domain)).toEqual(["orders"]);
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
