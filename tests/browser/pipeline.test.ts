import { expect, it } from "vitest";
import { DummyIndexer } from "../../src/pipeline/index.ts";
import { setup } from "../../src/testing/index.ts";
import { openServer } from "../kit/api.ts";
import { openPipeline, quick, runId, started, until } from "../kit/pipeline.ts";
import { confirm, openPage, untilLive, useBrowser } from "./stage.ts";

const browser = useBrowser();

it("a gap appears on the strip and closes", async () => {
  await using t = await setup();
  const { server } = await openServer(t);
  const pipeline = await openPipeline(t);
  await pipeline.writeMetadata(399);
  await started(t, new DummyIndexer("dummy", await pipeline.resources("dummy"), quick));
  await pipeline.send(0, 100);
  await pipeline.send(200, 200);
  const page = await openPage(t, browser(), `${server.url}/pipeline`);
  const strip = page.getByRole("region", { name: "DummyIndexer" });
  await strip.getByText("300 of 400 ticks indexed, 100 in pending gaps").waitFor();
  await expect.poll(() => strip.locator("rect.tick-pending").count()).toBe(50);
  await untilLive(page);
  await page.getByRole("button", { name: "100 – 199" }).click();
  await expect.poll(() => page.url()).toContain("from=100");
  await expect.poll(() => strip.locator("rect.tick-pending").count()).toBe(100);
  await strip.getByRole("slider").hover();
  await strip.getByText(/^Ticks 150–150: 1 pending gap/).waitFor();
  await page.getByRole("button", { name: "Whole range" }).click();
  await pipeline.send(100, 100);
  await strip.getByText("400 of 400 ticks indexed").waitFor();
  await expect.poll(() => strip.locator("rect.tick-pending").count()).toBe(0);
  await page.getByText("Every expected tick is covered by a file.").waitFor();
});

it("the strip is read and zoomed by key", async () => {
  await using t = await setup();
  const { server } = await openServer(t);
  const pipeline = await openPipeline(t);
  await pipeline.writeMetadata(999);
  await started(t, new DummyIndexer("dummy", await pipeline.resources("dummy"), quick));
  await pipeline.send(0, 1_000);
  const page = await openPage(t, browser(), `${server.url}/pipeline`);
  const slider = page.getByRole("slider", { name: "Ticks of DummyIndexer" });
  await page.getByText("1,000 of 1,000 ticks indexed").waitFor();
  await slider.focus();
  for (let step = 0; step < 3; step++) await page.keyboard.press("PageDown");
  await page.getByText("Ticks 150–154: 5 indexed").waitFor();
  await page.keyboard.press("Enter");
  await expect.poll(() => page.url()).toContain("from=100&to=204");
});

it("dead letters are read and re-driven", async () => {
  await using t = await setup();
  const { server, tallyman } = await openServer(t);
  t.logs.expectLog({ logger: "pipeline.intake", level: "warn", message: "Moved to the dead letters: *" });
  const pipeline = await openPipeline(t);
  await pipeline.writeMetadata(99);
  const file = await pipeline.write(0, 100);
  await pipeline.announce({ ...file, key: `${runId}/raw/nothing` });
  await started(t, new DummyIndexer("dummy", await pipeline.resources("dummy"), { ...quick, maxRetries: 1 }));
  await until("the poison is a dead letter", async () =>
    (await tallyman.topics.listTopics()).some(
      (each) => each.deadLettersOf === "batch-topic" && each.messages === 1,
    ),
  );
  const page = await openPage(t, browser(), `${server.url}/pipeline`);
  await page.getByRole("button", { name: "1 dead letter of batch-topic" }).click();
  const sheet = page.getByRole("complementary");
  await sheet.getByText(`${runId}/raw/nothing`).first().waitFor();
  await sheet.getByRole("button", { name: "Re-drive …" }).click();
  await page.getByText("1 dead letter would be sent back.").waitFor();
  await confirm(page, "Re-drive");
  await page.getByText("1 dead letter sent back.").waitFor();
});
