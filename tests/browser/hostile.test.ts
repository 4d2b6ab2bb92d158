import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { ServiceBoard, ServiceManager } from "../../src/app/index.ts";
import { PermanentError } from "../../src/commands/index.ts";
import { createBatchCoordinator } from "../../src/coordination/index.ts";
import { setup, type TestContext } from "../../src/testing/index.ts";
import { openServer } from "../kit/api.ts";
import { openPipeline, runId } from "../kit/pipeline.ts";
import { configOf, ProbeWorld, reaches } from "../kit/services.ts";
import { confirm, openPage, troubledRow, useBrowser } from "./stage.ts";

const browser = useBrowser();
const markup = `"><img src=x onerror="window.wasHacked=1"><script>window.wasHacked=1</script>`;

/** Nothing of the texts has become an element or has run. */
async function expectOnlyText(page: Page, where: string): Promise<void> {
  const found = await page.evaluate(
    "({ wasHacked: window.wasHacked ?? 0, images: document.querySelectorAll('img[src=x]').length, scripts: document.querySelectorAll('script:not([src])').length })",
  );
  expect({ where, found }).toEqual({ where, found: { wasHacked: 0, images: 0, scripts: 0 } });
}

it("shows markup in every field that others fill as the text that it is", async () => {
  await using t = await setup();
  t.logs.expectLog({ logger: "probe", level: "error", message: "Failed: *" });
  const { tallyman, server } = await openServer(t);
  const { commands, scheduler } = tallyman;
  const worker = t.use(commands.worker({ domain: markup, pollIntervalMs: 50 }));
  worker.handle(markup, ({ data }) => {
    if (!(data as { isFine?: boolean }).isFine) throw new PermanentError(markup);
    return { [markup]: markup };
  });
  await worker.start();
  const send = (data: object) => ({ commandType: markup, data });
  const batchId = await commands.createBatch(markup, [send({ [markup]: markup }), send({ isFine: true })], {
    name: markup,
  });
  await expect.poll(() => commands.tsq.count({}), { timeout: 20_000 }).toBe(1);
  await scheduler.jobs.create(markup, {
    schedule: { everyMs: 60_000 },
    command: { domain: markup, ...send({}) },
  });
  const world = new ProbeWorld();
  const config = configOf("services: { probe: { className: Probe } }");
  const manager = t.use(new ServiceManager(tallyman, config, { services: world.services }));
  const board = t.use(new ServiceBoard(tallyman.database, manager, { name: markup, intervalMs: 100 }));
  await board.start();
  await manager.start();
  world.probe("probe").fail(markup);
  await reaches(manager, "probe", "ERROR");

  const page = await openPage(t, browser(), `${server.url}/troubleshooting`);
  await troubledRow(page, markup).click();
  const sheet = page.getByRole("complementary");
  await sheet.getByLabel("Payload").getByText(markup.replaceAll('"', '\\"')).first().waitFor();
  await expectOnlyText(page, "troubleshooting");
  await sheet.getByRole("button", { name: "Complete …" }).click();
  await confirm(page, "Complete", markup);
  await page.getByText("1 command completed by hand.").waitFor();
  const places: readonly [path: string, text: string][] = [
    ["/", markup],
    ["/batches", markup],
    [`/batches/${batchId}`, markup],
    ["/fleet", markup],
    [`/fleet?job=${encodeURIComponent(markup)}`, "Next fires"],
    ["/pipeline", markup],
    ["/audit", markup],
    ["/audit?view=events", markup],
    [`/${encodeURIComponent(markup)}`, "There is no such screen"],
    [`/troubleshooting?domain=${encodeURIComponent(markup)}`, "No command matches the filter."],
  ];
  for (const [path, text] of places) {
    await page.goto(`${server.url}${path}`);
    await page.getByText(text).first().waitFor({ state: "attached" });
    await expectOnlyText(page, path);
  }
});

/** A run with a file and a message that were given up, by indexers with such names. */
async function openHostileRun(t: TestContext) {
  const pipeline = await openPipeline(t);
  await pipeline.writeMetadata(9);
  const coordinator = createBatchCoordinator(t.database, { instanceId: markup });
  coordinator.setSimulationRun(runId);
  const ready = coordinator.setIndexerClass(markup);
  await ready.registerFiles([{ filename: markup, storageKey: markup, tickStart: 0, tickEnd: 9 }]);
  await ready.tryClaim(markup, 0, 9);
  await ready.markFailed(markup, markup);
  const reader = t.use(await pipeline.reader("group", { runId }));
  await pipeline.announce({ ...(await pipeline.write(0, 10)), key: markup });
  const message = await reader.poll(10_000);
  if (!message) throw new Error("No message came.");
  await reader.deadLetter(message, { error: new Error(markup), sourceService: markup, retryCount: 1 });
}

it("shows markup from indexers, dead letters and tokens as the text that it is", async () => {
  await using t = await setup();
  const { tallyman, server } = await openServer(t);
  await openHostileRun(t);
  const { token } = await tallyman.tokens.create({ name: markup, role: "admin", createdBy: markup });
  const page = await openPage(t, browser(), `${server.url}/access`, { expectedErrors: /401/ });
  await page.getByLabel("Access token").fill(token);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("row", { name: markup }).waitFor();
  await expectOnlyText(page, "access");
  await page.getByRole("button", { name: /^Revoke the token of/ }).click();
  await page.getByRole("dialog", { name: markup }).waitFor();
  await expectOnlyText(page, "dialog");
  await page.goto(`${server.url}/pipeline?deadLetters=batch-topic`);
  await page.getByRole("region", { name: "Failed files" }).getByText(markup).waitFor();
  await page.getByRole("region", { name: "Claims" }).getByText(markup).first().waitFor();
  await page.getByRole("complementary").getByText(markup).first().waitFor();
  await expectOnlyText(page, "pipeline");
});
