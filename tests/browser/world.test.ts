import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { SimulationMetadataSchema, TickDataSchema } from "../../src/contracts/index.ts";
import { MetadataWriter } from "../../src/coordination/index.ts";
import {
  createWorld,
  EnvironmentIndexer,
  forgetDeaths,
  OrganismIndexer,
  StatisticsIndexer,
  sample,
  step,
} from "../../src/pipeline/index.ts";
import { setup, type TestContext } from "../../src/testing/index.ts";
import { openServer } from "../kit/api.ts";
import { openPipeline, quick, runId, started } from "../kit/pipeline.ts";
import { openPage, useBrowser } from "./stage.ts";

const browser = useBrowser();
const tickCount = 40;
const [width, height] = [24, 16];
const metadata = create(SimulationMetadataSchema, {
  simulationRunId: runId,
  samplingInterval: 1,
  declaredEndTick: BigInt(tickCount - 1),
  environment: { dimensions: 2, shape: [width, height] },
});

/** A small world, simulated and indexed. */
async function openWorld(t: TestContext) {
  const { server, client } = await openServer(t);
  const pipeline = await openPipeline(t);
  await new MetadataWriter(t.database).insertMetadata(runId, metadata);
  for (const [Class, group] of [
    [EnvironmentIndexer, "environment"],
    [OrganismIndexer, "organisms"],
    [StatisticsIndexer, "statistics"],
  ] as const)
    await started(t, new Class(group, await pipeline.resources(group), quick));
  const world = createWorld({ width, height, seed: 7 });
  const ticks = Array.from({ length: tickCount }, () => {
    const tick = { ...sample(world), simulationRunId: runId };
    forgetDeaths(world);
    step(world);
    return tick;
  });
  await pipeline.announce(
    await pipeline.storage.writeBatch(runId, 0, tickCount - 1, ticks, { schema: TickDataSchema }),
  );
  const range = { firstTick: 0, lastTick: tickCount - 1 };
  await expect
    .poll(() => client.call("GET /api/runs/:runId/indexed", { params: { runId } }), { timeout: 20_000 })
    .toEqual({ environment: range, organisms: range, statistics: range });
  return { server, client };
}

it("the world scrubs and plays, its charts lead to ticks, and an organism's life opens", async () => {
  await using t = await setup();
  const { server, client } = await openWorld(t);
  const page = await openPage(t, browser(), `${server.url}/world`);
  const canvas = page.locator("canvas.world");
  await page.locator(`canvas.world[data-tick="${tickCount - 1}"]`).waitFor();
  const last = await canvas.screenshot();
  await page.getByRole("slider", { name: "Tick" }).fill("5");
  await page.locator('canvas.world[data-tick="5"]').waitFor();
  expect((await canvas.screenshot()).equals(last)).toBe(false);
  expect(page.url()).toContain("tick=5");
  await page.getByRole("slider", { name: "Tick" }).fill(`${tickCount - 4}`);
  await page.getByRole("button", { name: "Play" }).click();
  await page.locator(`canvas.world[data-tick="${tickCount - 1}"]`).waitFor();
  await page.getByRole("button", { name: "Play" }).waitFor();
  await page
    .getByRole("img", { name: "Population" })
    .locator(".u-over")
    .click({ position: { x: 30, y: 20 } });
  await expect.poll(() => page.url()).toMatch(/tick=\d+/);
  await page.getByRole("slider", { name: "Tick" }).fill("0");
  await page.locator('canvas.world[data-tick="0"]').waitFor();
  const alive = await client.call("GET /api/runs/:runId/organisms", {
    params: { runId },
    query: { tick: 0 },
  });
  const [{ organismId, x, y } = { organismId: -1, x: 0, y: 0 }] = alive.organisms;
  await page.getByText(`of ${alive.organisms.length} organisms at this tick`).waitFor();
  const box = (await canvas.boundingBox()) ?? { width: 0, height: 0 };
  const position = { x: ((x + 0.5) / width) * box.width, y: ((y + 0.5) / height) * box.height };
  await canvas.click({ position });
  const life = page.getByRole("complementary", { name: `Organism ${organismId}` });
  await life.getByText("tick 0").waitFor();
  await life.getByRole("img", { name: "Energy over its life" }).waitFor();
});

it("draws its charts in a browser whose language is that of LANG=C", async () => {
  await using t = await setup();
  const { server } = await openWorld(t);
  const page = await openPage(t, browser(), "about:blank");
  await page.addInitScript(
    'Object.defineProperty(Navigator.prototype, "language", { get: () => "en-US@posix" })',
  );
  await page.goto(`${server.url}/world`);
  await page.getByRole("img", { name: "Population" }).locator(".u-over").waitFor();
});

it("names a run that is too old for the list, and one that there never was", async () => {
  await using t = await setup();
  const { server, client } = await openWorld(t);
  const writer = new MetadataWriter(t.database);
  for (let number = 2; number <= 22; number++) await writer.createSimulationRun(`run-${number}`);
  const { items } = await client.call("GET /api/runs");
  expect(items.map((run) => run.runId)).not.toContain(runId);
  const page = await openPage(t, browser(), `${server.url}/world?run=${runId}`, { expectedErrors: /404/ });
  await page.locator(`canvas.world[data-tick="${tickCount - 1}"]`).waitFor();
  await page.goto(`${server.url}/world?run=run-99`);
  await page.getByText("The database knows no run").waitFor();
});

it("without a run it says what to expect", async () => {
  await using t = await setup();
  const { server } = await openServer(t);
  const page = await openPage(t, browser(), `${server.url}/world`);
  await page.getByText("No run yet").waitFor();
});
