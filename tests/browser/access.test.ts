import { expect, it } from "vitest";
import { createServer } from "../../src/server/index.ts";
import { setup } from "../../src/testing/index.ts";
import { openServer } from "../kit/api.ts";
import { confirm, openPage, orders, startShop, troubledRow, untilLive, useBrowser } from "./stage.ts";

const browser = useBrowser();

it("asks for a token when there are any, and leads back out", async () => {
  await using t = await setup();
  const { tallyman, server } = await openServer(t);
  const { token } = await tallyman.tokens.create({ name: "ops", role: "admin", createdBy: "test" });
  const page = await openPage(t, browser(), `${server.url}/fleet`, { expectedErrors: /401/ });
  await page.getByLabel("Access token").fill("wrong");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByText("The access token is not in force").waitFor();
  await page.getByLabel("Access token").fill(token);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("heading", { name: "Fleet" }).waitFor();
  await page.getByText("ops (admin)").waitFor();
  await untilLive(page);
  expect(await page.evaluate("document.cookie")).toBe("");
  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByLabel("Access token").waitFor();
  await page.reload();
  await page.getByLabel("Access token").waitFor();
});

it("a session that is revoked leads to the log-in", async () => {
  await using t = await setup();
  const { tallyman, server } = await openServer(t);
  const { token, tokenId } = await tallyman.tokens.create({ name: "ops", role: "read", createdBy: "test" });
  const page = await openPage(t, browser(), `${server.url}/`, { expectedErrors: /401/ });
  await page.getByLabel("Access token").fill(token);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await untilLive(page);
  await tallyman.tokens.revoke(tokenId);
  // Any news makes the page ask again.
  await tallyman.commands.createBatch("orders", orders(1, 0));
  await page.getByLabel("Access token").waitFor();
});

it("a session that ends while nothing happens leads to the log-in", async () => {
  await using t = await setup();
  const { tallyman, server } = await openServer(t);
  const { token, tokenId } = await tallyman.tokens.create({ name: "ops", role: "read", createdBy: "test" });
  const page = await openPage(t, browser(), `${server.url}/batches`, { expectedErrors: /401|503|ERR_/ });
  await page.getByLabel("Access token").fill(token);
  await page.getByRole("button", { name: "Log in" }).click();
  await untilLive(page);
  await tallyman.tokens.revoke(tokenId);
  // A server that goes away ends the connection sooner than its next look at the session.
  const { port } = server;
  await server.stop();
  await page.getByText("Connection lost").waitFor();
  await t.use(createServer(tallyman, { port })).start();
  await page.getByLabel("Access token").waitFor();
});

it("who may only read can't act, and sees no payloads without the right to", async () => {
  await using t = await setup();
  const { tallyman, server } = await openServer(t);
  await startShop(t, tallyman);
  await tallyman.commands.createBatch("orders", orders(1, 1), { name: "Refused" });
  await expect.poll(() => tallyman.commands.tsq.count({}), { timeout: 20_000 }).toBe(1);
  const options = { name: "viewer", role: "read", canViewPayloads: false, createdBy: "test" } as const;
  const { token } = await tallyman.tokens.create(options);
  const page = await openPage(t, browser(), `${server.url}/troubleshooting`, { expectedErrors: /401/ });
  await page.getByLabel("Access token").fill(token);
  await page.getByRole("button", { name: "Log in" }).click();
  await troubledRow(page, /gateway refuses order 0/).click();
  const sheet = page.getByRole("complementary");
  await sheet.getByLabel("Payload").getByText("[hidden]").waitFor();
  await sheet.getByText("your token does not show it").waitFor();
  for (const button of await page.getByRole("button", { name: /(Retry|Complete|Cancel) …/ }).all())
    expect(await button.isDisabled()).toBe(true);
});

it("the first token logs its maker in; others are made, shown once and revoked", async () => {
  await using t = await setup();
  const { tallyman, server } = await openServer(t);
  const page = await openPage(t, browser(), `${server.url}/access`, { expectedErrors: /401/ });
  await page.getByText("No token yet").waitFor();
  const make = async (name: string) => {
    await page.getByRole("button", { name: "New token …" }).click();
    await page.getByLabel("Who or what uses it").fill(name);
    await confirm(page, "Make token");
    await page.getByRole("heading", { name: `The token of ${name}` }).waitFor();
    return (await page.locator(".secret").textContent()) ?? "";
  };
  const first = await make("mia");
  await page.getByText("mia (admin)").waitFor();
  await page.getByRole("row", { name: /mia .* admin in force/ }).waitFor();
  const second = await make("grafana");
  expect(second).not.toBe(first);
  expect(await tallyman.tokens.authenticate(second)).toMatchObject({ actor: "grafana", role: "read" });
  await page.getByRole("button", { name: "I have it" }).click();
  await page.getByText(second).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Revoke the token of grafana" }).click();
  await confirm(page, "Revoke", "unused");
  await page.getByRole("row", { name: /grafana .* read revoked/ }).waitFor();
  await expect.poll(() => tallyman.tokens.authenticate(second), { timeout: 15_000 }).toBeUndefined();
  await page.getByRole("link", { name: "Audit" }).click();
  await page.getByRole("row", { name: /local token.create .* the test says so/ }).waitFor();
  await page.getByRole("row", { name: /mia token.revoke .* unused/ }).waitFor();
});

it("tokens are for admins: others are not led there, and see nothing", async () => {
  await using t = await setup();
  const { tallyman, server } = await openServer(t);
  const { token } = await tallyman.tokens.create({ name: "ops", role: "operate", createdBy: "test" });
  const page = await openPage(t, browser(), `${server.url}/access`, { expectedErrors: /401|403/ });
  await page.getByLabel("Access token").fill(token);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByText("Not for your role").waitFor();
  expect(await page.getByRole("link", { name: "Access" }).count()).toBe(0);
  expect(await page.getByRole("button", { name: "New token …" }).isDisabled()).toBe(true);
});
