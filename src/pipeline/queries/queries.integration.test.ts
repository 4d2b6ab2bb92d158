import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  CellSchema,
  CellState,
  OrganismSchema,
  type TickData,
  TickDataSchema,
} from "../../contracts/index.ts";
import { type Executor, ensureRunSchema, type RunDatabase } from "../../database/index.ts";
import { setup, type TestContext } from "../../testing/index.ts";
import {
  copyEnvironmentData,
  copyOrganismData,
  indexedTicks,
  mergeOrganisms,
  mergeTickStatistics,
  organismLife,
  statisticsOverRange,
  worldAtTick,
} from "../index.ts";

const samplingInterval = 10;

async function openRun(t: TestContext): Promise<RunDatabase> {
  return t.database.forRun(await ensureRunSchema(t.database, "run-1"));
}

/** Organism 1 lives for ever and walks a row per tick; 2 and 3 stem from it, and 2 dies at tick 55. */
function tickAt(now: number): TickData {
  const organisms = [
    { organismId: 1n, birthTick: 0n, x: now, energy: 100 },
    {
      organismId: 2n,
      birthTick: 15n,
      parentId: 1n,
      x: 2 * now,
      energy: 40,
      ...(now > 55 && { deathTick: 55n }),
    },
    { organismId: 3n, birthTick: 20n, parentId: 1n, x: 3 * now, energy: 60 },
  ].filter(({ organismId, birthTick }) => birthTick <= now && !(organismId === 2n && now > 60));
  return create(TickDataSchema, {
    tickNumber: BigInt(now),
    cells: [
      create(CellSchema, { cellId: 7, x: 7, y: 0, state: CellState.WALL }),
      create(CellSchema, { cellId: now, x: now % 64, y: 3, state: CellState.BODY, value: 100, owner: 1n }),
    ],
    organisms: organisms.map((organism) =>
      create(OrganismSchema, { ...organism, y: 1, age: now - Number(organism.birthTick) }),
    ),
  });
}

async function index(run: RunDatabase, ticks: readonly TickData[]): Promise<void> {
  await run.transaction(async (tx) => {
    await copyEnvironmentData(tx, ticks);
    await copyOrganismData(tx, ticks);
    await mergeTickStatistics(tx, ticks, { samplingInterval });
    await mergeOrganisms(tx, ticks);
  });
}

const sampled = (from: number, to: number) =>
  Array.from({ length: (to - from) / samplingInterval + 1 }, (_, i) => tickAt(from + i * samplingInterval));

describe("worldAtTick", () => {
  it("shows the tick, or the newest indexed one before it", async () => {
    await using t = await setup();
    const run = await openRun(t);
    await index(run, sampled(10, 50));
    const cells = [
      { cellId: 7, x: 7, y: 0, state: CellState.WALL, value: 0, owner: null },
      { cellId: 30, x: 30, y: 3, state: CellState.BODY, value: 100, owner: 1 },
    ];
    const world = { tickNumber: 30, cells, truncated: false };
    expect(await worldAtTick(run, 30)).toEqual(world);
    expect(await worldAtTick(run, 39)).toEqual(world);
    expect(await worldAtTick(run, 30, { exact: true })).toEqual(world);
    expect(await worldAtTick(run, 39, { exact: true })).toBeUndefined();
    expect(await worldAtTick(run, 9)).toBeUndefined();
    expect((await worldAtTick(run, 1_000_000))?.tickNumber).toBe(50);
  });

  it("comes in pages", async () => {
    await using t = await setup();
    const run = await openRun(t);
    await index(run, sampled(10, 20));
    const first = await worldAtTick(run, 20, { cellsMax: 1 });
    expect(first).toMatchObject({ truncated: true, cells: [{ cellId: 7 }] });
    const second = await worldAtTick(run, 20, { cellsMax: 1, afterCellId: 7 });
    expect(second).toMatchObject({ truncated: false, cells: [{ cellId: 20 }] });
    await expect(worldAtTick(run, 20, { cellsMax: 100_001 })).rejects.toMatchObject({
      code: "INVALID_OPTION",
    });
  });
});

describe("organismLife", () => {
  it("tells birth, parent, death, children and the path between", async () => {
    await using t = await setup();
    const run = await openRun(t);
    await index(run, sampled(0, 100));
    const life = await organismLife(run, 2);
    expect(life).toMatchObject({ organismId: 2, birthTick: 15, parentId: 1, deathTick: 55, children: 0 });
    expect(life?.path.map((point) => [point.tickNumber, point.x])).toEqual([
      [20, 40],
      [30, 60],
      [40, 80],
      [50, 100],
      [60, 120],
    ]);
    expect(life?.path[0]).toEqual({ tickNumber: 20, x: 40, y: 1, energy: 40, age: 5 });
    expect(await organismLife(run, 1)).toMatchObject({ parentId: null, deathTick: null, children: 2 });
    expect(await organismLife(run, 99)).toBeUndefined();
  });

  it("has first and last among a bounded number of points", async () => {
    await using t = await setup();
    const run = await openRun(t);
    await index(run, sampled(0, 1000));
    const path = async (pointsMax: number) =>
      (await organismLife(run, 1, { pointsMax }))?.path.map((point) => point.tickNumber);
    expect(await path(2)).toEqual([0, 1000]);
    expect(await path(5)).toEqual([0, 250, 500, 750, 1000]);
    expect(await path(2_000)).toHaveLength(101);
    await expect(path(2_001)).rejects.toMatchObject({ code: "INVALID_OPTION" });
  });

  it("has the tick before in place of one that is missing", async () => {
    await using t = await setup();
    const run = await openRun(t);
    await index(run, [...sampled(0, 40), ...sampled(80, 100)]);
    const life = await organismLife(run, 1, { pointsMax: 5 });
    expect(life?.path.map((point) => point.tickNumber)).toEqual([0, 20, 40, 100]);
  });
});

describe("statisticsOverRange", () => {
  it("counts each tick, with births and deaths since the sampled tick before", async () => {
    await using t = await setup();
    const run = await openRun(t);
    await index(run, sampled(0, 70));
    const ticks = await statisticsOverRange(run, { buckets: 2_000 });
    expect(ticks.map((tick) => [tick.firstTick, tick.population, tick.births, tick.deaths])).toEqual([
      [0, 1, 1, 0],
      [10, 1, 0, 0],
      [20, 3, 2, 0],
      [30, 3, 0, 0],
      [40, 3, 0, 0],
      [50, 3, 0, 0],
      [60, 2, 0, 1],
      [70, 2, 0, 0],
    ]);
    expect(ticks[2]).toMatchObject({
      lastTick: 20,
      ticks: 1,
      totalEnergy: 200,
      meanEnergy: 200 / 3,
      cells: 2,
    });
  });

  it("puts a range into as many buckets as were asked for, on the server", async () => {
    await using t = await setup();
    const run = await openRun(t);
    await index(run, sampled(0, 70));
    expect(await statisticsOverRange(run, { buckets: 1 })).toEqual([
      {
        firstTick: 0,
        lastTick: 70,
        ticks: 8,
        population: 18 / 8,
        populationMin: 1,
        populationMax: 3,
        births: 3,
        deaths: 1,
        totalEnergy: (2 * 100 + 4 * 200 + 2 * 160) / 8,
        meanEnergy: (2 * 100 + 4 * 200 + 2 * 160) / 18,
        cells: 2,
      },
    ]);
    const parts = async (options: { fromTick?: number; toTick?: number; buckets: number }) =>
      (await statisticsOverRange(run, options)).map(({ firstTick, lastTick }) => [firstTick, lastTick]);
    expect(await parts({ fromTick: 15, toTick: 55, buckets: 2 })).toEqual([
      [20, 30],
      [40, 50],
    ]);
    expect(await parts({ fromTick: 500, buckets: 2 })).toEqual([]);
    await expect(parts({ buckets: 2_001 })).rejects.toMatchObject({ code: "INVALID_OPTION" });
  });

  it("has no mean energy where nobody lives", async () => {
    await using t = await setup();
    const run = await openRun(t);
    await index(run, [create(TickDataSchema, { tickNumber: 5n })]);
    expect(await statisticsOverRange(run)).toMatchObject([
      { population: 0, totalEnergy: 0, meanEnergy: null },
    ]);
  });
});

describe("indexedTicks", () => {
  it("tells the range of each table", async () => {
    await using t = await setup();
    const run = await openRun(t);
    const nothing = { environment: undefined, organisms: undefined, statistics: undefined };
    expect(await indexedTicks(run)).toEqual(nothing);
    await run.transaction((tx) => copyEnvironmentData(tx, sampled(20, 90)));
    expect(await indexedTicks(run)).toEqual({ ...nothing, environment: { firstTick: 20, lastTick: 90 } });
  });
});

describe("every query", () => {
  it("descends an index instead of reading a table, however large", async () => {
    await using t = await setup();
    const run = await openRun(t);
    await fillTables(run);
    const plans: string[] = [];
    const explained = explaining(run, plans);
    await worldAtTick(explained, 500);
    await worldAtTick(explained, 500, { exact: true });
    await organismLife(explained, 5);
    await indexedTicks(explained);
    await statisticsOverRange(explained, { fromTick: 400, toTick: 500 });
    expect(plans).toHaveLength(6);
    for (const plan of plans) {
      expect(plan).not.toMatch(/Seq Scan on (environment_data|organisms|organism_data|tick_statistics)/);
      expect(plan).toMatch(/Index (Only )?Scan/);
    }
  });
});

/** Enough rows that reading a whole table would never be cheaper. */
async function fillTables(run: RunDatabase): Promise<void> {
  await run.query(
    `INSERT INTO sim.environment_data SELECT tick, cell, NULL, 1, 1, 1, 1
     FROM generate_series(1, 2000) tick, generate_series(1, 50) cell`,
  );
  await run.query(
    `INSERT INTO sim.organism_data SELECT tick, organism, 1, 1, 1, 1
     FROM generate_series(1, 2000) tick, generate_series(1, 50) organism`,
  );
  await run.query("INSERT INTO sim.organisms SELECT id, 1, id / 10 FROM generate_series(1, 20000) id");
  await run.query(
    "INSERT INTO sim.tick_statistics SELECT tick, 1, 1, 1, 1, 1, 1 FROM generate_series(1, 20000) tick",
  );
  for (const table of ["environment_data", "organism_data", "organisms", "tick_statistics"])
    await run.query(`ANALYZE sim.${table}`);
}

/** Keeps the plan of every statement. */
function explaining(run: RunDatabase, plans: string[]): Executor {
  return {
    async query(text, values) {
      const { rows } = await run.query<{ "QUERY PLAN": string }>(`EXPLAIN ${text}`, values ?? []);
      plans.push(rows.map((row) => row["QUERY PLAN"]).join("\n"));
      return run.query(text, values ?? []);
    },
  };
}
