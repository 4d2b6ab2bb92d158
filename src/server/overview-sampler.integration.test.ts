import { describe, expect, it } from "vitest";
import { Tallyman } from "../app/index.ts";
import { metricNames } from "../monitoring/index.ts";
import { setup } from "../testing/index.ts";
import { OverviewSampler } from "./overview-sampler.ts";

/** One look, as every ten seconds. */
async function look(sampler: OverviewSampler): Promise<void> {
  sampler.start();
  await sampler.stop();
}

describe("OverviewSampler", () => {
  it("tells the whole system's figures, each under a name that metrics have", async () => {
    await using t = await setup();
    const tallyman = t.use(await Tallyman.connect({ database: t.url }));
    const sampler = new OverviewSampler(tallyman);
    await look(sampler);
    expect(sampler.metrics).toMatchObject({ commands_ready: 0, oldest_ready_command_ms: 0, has_leader: 0 });
    await tallyman.commands.send("orders", "Ship", { data: {} });
    await look(sampler);
    expect(sampler.metrics).toMatchObject({ commands_ready: 1, batches_running: 0 });
    expect(sampler.metrics.oldest_ready_command_ms).toBeGreaterThan(0);
    expect(Object.keys(sampler.metrics).filter((name) => !metricNames.has(name))).toEqual([]);
    expect(sampler.samples.map(({ backlog }) => backlog)).toEqual([0, 1]);
  });

  it("tells nothing that it can't know: without a database there are no figures, rather than old ones", async () => {
    await using t = await setup();
    const tallyman = t.use(await Tallyman.connect({ database: t.url }));
    const sampler = new OverviewSampler(tallyman);
    await look(sampler);
    expect(sampler.metrics).toHaveProperty("commands_ready");
    await tallyman.database.close();
    await look(sampler);
    expect(sampler.metrics).toEqual({});
  });
});
