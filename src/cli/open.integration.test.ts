import { expect, it } from "vitest";
import { loadConfig } from "../app/index.ts";
import { createBatchCoordinator } from "../coordination/index.ts";
import { setup } from "../testing/index.ts";
import { openTallyman } from "./open.ts";

it("the configured window is that of the database's rates, and of those who work on it", async () => {
  await using t = await setup();
  const environment = { TALLYMAN_METRICS_WINDOW_SECONDS: "3600", DATABASE_URL: t.url };
  const config = await loadConfig({ environment, directory: await t.temporaryFolder() });
  const tallyman = t.use(await openTallyman({ databaseUrl: t.url }, config));
  const coordinator = createBatchCoordinator(tallyman.database);
  coordinator.setSimulationRun("run-1");
  await coordinator.setIndexerClass("Dummy").tryClaim("batch_0000000000_0000000009.pb", 0, 9);
  const { claims_window_total: claims, claims_per_sec: rate = 1 } = coordinator.getMetrics();
  expect(claims).toBe(1);
  // One claim in an hour; in a window of five seconds it would be one in at most five.
  expect(rate).toBeLessThan(1 / 1_000);
  expect(tallyman.database.getMetrics().queries_per_sec).toBeLessThan(1);
});
