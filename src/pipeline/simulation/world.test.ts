import { createHash } from "node:crypto";
import { toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { CellState, type TickData, TickDataSchema } from "../../contracts/index.ts";
import { createWorld, forgetDeaths, sample, step, type World, type WorldConfig } from "../index.ts";
import { tickFault } from "../producer/record-faults.ts";

/** SIMULATION_SEEDS, SIMULATION_SIDE and SIMULATION_TICKS make the test of life as large as one likes. */
const seeds = Number(process.env.SIMULATION_SEEDS ?? 3);
const side = Number(process.env.SIMULATION_SIDE ?? 32);
const ticks = Number(process.env.SIMULATION_TICKS ?? 100_000);

function worldAt(tick: number, config: Partial<WorldConfig> = {}): World {
  const world = createWorld(config);
  while (world.tick < tick) {
    forgetDeaths(world);
    step(world);
  }
  return world;
}

function hashOf(tick: TickData): string {
  return createHash("sha256").update(toBinary(TickDataSchema, tick)).digest("hex");
}

describe("a world", { timeout: 60_000 }, () => {
  it("is the same at tick 1,000 on every machine", () => {
    expect(hashOf(sample(worldAt(1_000, { seed: 42 })))).toBe(
      "09fac6f4eb0c6126df6565d2d8ff00b30bbca95d587902526a91009e1b619936",
    );
  });

  it("depends on its seed, and on nothing else", () => {
    const hashes = [1, 1, 2, 2 ** 33].map((seed) => hashOf(sample(worldAt(200, { seed }))));
    expect(hashes[0]).toBe(hashes[1]);
    expect(new Set(hashes).size).toBe(3);
  });

  it("is not changed by being looked at", () => {
    const [seen, unseen] = [createWorld(), createWorld()];
    for (let tick = 0; tick < 100; tick++) {
      sample(seen);
      step(seen);
      step(unseen);
    }
    expect(hashOf(sample(seen))).toBe(hashOf(sample(unseen)));
  });

  it.each([{ width: 3 }, { height: 1025 }, { seed: -1 }, { width: 8.5 }])("refuses %o", (config) => {
    expect(() => createWorld(config)).toThrow(/must be/);
  });
});

describe("a sample", { timeout: 60_000 }, () => {
  it("is valid, compact and tells one story: bodies are where organisms are", () => {
    const world = worldAt(2_000);
    const { cells, organisms } = sample(world);
    expect(tickFault(sample(world))).toBeUndefined();
    expect(cells.length).toBeLessThan(64 * 64);
    const bodies = cells.filter(({ state }) => state === CellState.BODY);
    const living = organisms.filter(({ deathTick }) => deathTick === undefined);
    expect(bodies.map(({ owner, value }) => [owner, value]).sort()).toEqual(
      living.map(({ organismId, energy }) => [organismId, energy]).sort(),
    );
    for (const { cellId, x, y } of cells) expect(cellId).toBe(y * 64 + x);
  });

  it("tells of each birth and each death once, and of parents that lived", () => {
    const world = createWorld({ seed: 5 });
    const known = new Set<bigint>();
    const dead = new Set<bigint>();
    for (; world.tick < 1_000; step(world)) {
      if (world.tick % 10 !== 0) continue;
      for (const { organismId, parentId, deathTick } of sample(world).organisms) {
        expect(dead.has(organismId)).toBe(false);
        if (deathTick !== undefined) dead.add(organismId);
        known.add(organismId);
        if (parentId !== undefined) expect(parentId).toBeLessThan(organismId);
      }
      forgetDeaths(world);
    }
    // Ids are given in sequence, so nobody who lived between two samples is missing.
    expect(known.size).toBe(
      world.nextId - 1 - world.living.filter(({ birthTick }) => birthTick > 990).length,
    );
    expect(dead.size).toBeGreaterThan(20);
  });
});

describe("life", { timeout: 600_000 }, () => {
  it(`goes on and changes for ${ticks} ticks, for ${seeds} seeds`, () => {
    for (let seed = 1; seed <= seeds; seed++) {
      const world = createWorld({ width: side, height: side, seed });
      const populations: number[] = [];
      for (let window = 0; window < ticks / 1_000; window++) {
        const bornBefore = world.nextId;
        while (world.tick < (window + 1) * 1_000) step(world);
        const deaths = world.died.length;
        forgetDeaths(world);
        const share = sample(world).cells.length / world.walls.length;
        expect(share, `seed ${seed}, tick ${world.tick}`).toBeGreaterThan(0.01);
        expect(share).toBeLessThan(0.7);
        expect(world.living.length).toBeGreaterThan(0);
        expect(world.nextId - bornBefore + deaths).toBeGreaterThan(0);
        populations.push(world.living.length);
      }
      expect(Math.max(...populations)).toBeGreaterThan(2 * Math.min(...populations));
    }
  });

  it("does not die out for good in a world of 8 × 8", () => {
    const world = createWorld({ width: 8, height: 8, seed: 3 });
    let alive = 0;
    for (; world.tick < 20_000; step(world)) {
      if (world.living.length > 0) alive++;
      forgetDeaths(world);
    }
    expect(alive).toBeGreaterThan(10_000);
    expect(sample(world).cells.length).toBeLessThanOrEqual(64);
  });

  it("crosses the world's edges", () => {
    const world = createWorld({ width: 32, height: 32, seed: 1 });
    let crossings = 0;
    for (; world.tick < 2_000; ) {
      const before = new Map(world.living.map(({ id, cell }) => [id, cell]));
      step(world);
      for (const { id, cell } of world.living) {
        const [from = cell, width] = [before.get(id), 32];
        if (Math.abs((from % width) - (cell % width)) > 1) crossings++;
      }
    }
    expect(crossings).toBeGreaterThan(5);
  });
});
