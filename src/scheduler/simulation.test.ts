import { describe, expect, it } from "vitest";
import { allFences, type Fences } from "../../tests/models/scheduler-model.ts";
import { type SimulationReport, simulate } from "../../tests/simulation/scheduler-simulation.ts";

/** The whole campaign: SEEDS=10000 npx vitest run simulation. One seed again: SEED=123 npx vitest run simulation. */
const seedCount = Number(process.env.SEEDS ?? 60);
const firstSeed = Number(process.env.SEED ?? 1);
const seeds = Array.from({ length: process.env.SEED === undefined ? seedCount : 1 }, (_, i) => firstSeed + i);

async function run(seed: number, fences?: Fences): Promise<SimulationReport> {
  try {
    return await simulate(seed, fences);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`Seed ${seed}: ${reason}. Replay: SEED=${seed} npx vitest run simulation`, { cause });
  }
}

describe("the fleet, simulated", () => {
  it(`keeps its invariants over ${seeds.length} seeds of lost, late and repeated messages, pauses and deaths`, async () => {
    const total = { terms: 0, fires: 0, grants: 0 };
    for (const seed of seeds) {
      const { terms, fires, grants } = await run(seed);
      total.terms += terms;
      total.fires += fires;
      total.grants += grants;
    }
    // Not a fleet that stood still.
    expect(total.terms).toBeGreaterThan(2 * seeds.length);
    expect(total.fires).toBeGreaterThan(50 * seeds.length);
  }, 3_600_000);

  it("replays a seed exactly", async () => {
    expect(await run(firstSeed)).toEqual(await run(firstSeed));
  });

  it.each(["lease", "renewal", "boot", "release"] as const)(
    "notices when the fence of the %s is taken out",
    async (fence) => {
      const without = { ...allFences, [fence]: false };
      const found: string[] = [];
      for (let seed = 1; seed <= 30 && found.length === 0; seed++)
        await run(seed, without).catch((error: Error) => found.push(error.message));
      expect(found).toEqual([expect.stringMatching(/Seed \d+: \d: /)]);
    },
    120_000,
  );
});
