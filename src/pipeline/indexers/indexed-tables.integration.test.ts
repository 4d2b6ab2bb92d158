import { create, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Cell,
  CellSchema,
  OrganismSchema,
  type TickData,
  TickDataSchema,
} from "../../contracts/index.ts";
import { ensureRunSchema, type RunDatabase, type Transaction } from "../../database/index.ts";
import { deferred } from "../../runtime/index.ts";
import { setup, type TestContext } from "../../testing/index.ts";
import { decodeTick } from "../ticks/decode-tick.ts";
import { copyEnvironmentData, mergeEnvironmentData } from "./sql/environment-data.ts";
import { copyOrganismData, mergeOrganismData } from "./sql/organism-data.ts";
import { mergeOrganisms } from "./sql/organisms.ts";
import { mergeTickStatistics } from "./sql/tick-statistics.ts";

const int64Min = -(2n ** 63n);
const int64Max = 2n ** 63n - 1n;
const int32Min = -(2 ** 31);
const int32Max = 2 ** 31 - 1;
const tables = {
  environment_data: "tick_number, cell_id",
  organisms: "organism_id",
  organism_data: "tick_number, organism_id",
  tick_statistics: "tick_number",
} as const;

async function openRun(t: TestContext): Promise<RunDatabase> {
  return t.database.forRun(await ensureRunSchema(t.database, "run-1"));
}

/** All rows of all tables as text, by key. */
async function contents(run: RunDatabase): Promise<Record<string, string[]>> {
  const entries = Object.entries(tables).map(async ([table, key]) => {
    const { rows } = await run.query<{ row: string }>(
      `SELECT t::text AS row FROM sim.${table} t ORDER BY ${key}`,
    );
    return [table, rows.map(({ row }) => row)] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

const cell = (cellId: number, more: Partial<Cell> = {}) =>
  create(CellSchema, { cellId, x: cellId, y: 1, state: 1, value: 5, owner: 0n, ...more });

const tick = (tickNumber: number, cells: Cell[]) =>
  create(TickDataSchema, { tickNumber: BigInt(tickNumber), simulationRunId: "run-1", cells });

const extremes = create(TickDataSchema, {
  tickNumber: int64Max,
  cells: [
    cell(0, { x: 0, y: 0, state: int32Min as 0, value: int32Min, owner: int64Min }),
    cell(2 ** 32 - 1, { x: int32Max, y: int32Max, state: int32Max as 0, value: int32Max, owner: int64Max }),
    cell(7, { owner: -1n }),
  ],
  organisms: [
    create(OrganismSchema, { organismId: int64Min, birthTick: int64Min, energy: int32Min, age: int32Min }),
    create(OrganismSchema, {
      organismId: int64Max,
      birthTick: int64Max,
      parentId: int64Min,
      deathTick: int64Max,
      x: int32Max,
      y: int32Max,
      energy: int32Max,
      age: int32Max,
    }),
    create(OrganismSchema, { organismId: 2n ** 53n, parentId: 0n, deathTick: 0n }),
    create(OrganismSchema, { organismId: 2n ** 53n + 1n }),
  ],
});

describe("writers of the indexed tables", () => {
  it.each([
    ["decoded", decodeTick(toBinary(TickDataSchema, extremes))],
    ["plain", extremes],
  ])("keep extreme values of %s ticks", async (_, ticks) => {
    await using t = await setup();
    const run = await openRun(t);
    await run.transaction((tx) => index(tx, [ticks], true));
    expect(await contents(run)).toEqual({
      environment_data: [
        `(${int64Max},0,${int64Min},0,0,${int32Min},${int32Min})`,
        `(${int64Max},7,-1,7,1,5,1)`,
        `(${int64Max},4294967295,${int64Max},${int32Max},${int32Max},${int32Max},${int32Max})`,
      ],
      organisms: [
        `(${int64Min},${int64Min},,)`,
        "(9007199254740992,0,0,0)",
        "(9007199254740993,0,,)",
        `(${int64Max},${int64Max},${int64Min},${int64Max})`,
      ],
      organism_data: [
        `(${int64Max},${int64Min},0,0,${int32Min},${int32Min})`,
        `(${int64Max},9007199254740992,0,0,0,0)`,
        `(${int64Max},9007199254740993,0,0,0,0)`,
        `(${int64Max},${int64Max},${int32Max},${int32Max},${int32Max},${int32Max})`,
      ],
      tick_statistics: [`(${int64Max},${int32Min},${int32Min / 2},2,1,2,3)`],
    });
  });

  it("find their tables in a run that is older than these", async () => {
    await using t = await setup();
    const run = await openRun(t);
    for (const table of [...Object.keys(tables), "indexer_groups"])
      await run.query(`DROP TABLE sim.${table}`);
    await run.query("DELETE FROM sim.migration WHERE version = 3");
    const upgraded = (await t.connect()).forRun(await ensureRunSchema(await t.connect(), "run-1"));
    await upgraded.transaction((tx) => index(tx, [tick(1, [cell(1)])], true));
    expect((await contents(upgraded)).environment_data).toEqual(["(1,1,,1,1,5,1)"]);
  });

  it("store no owner as null", async () => {
    await using t = await setup();
    const run = await openRun(t);
    await run.transaction((tx) => copyEnvironmentData(tx, [tick(1, [cell(1), cell(2, { owner: 9n })])]));
    const { rows } = await run.query("SELECT owner FROM sim.environment_data ORDER BY cell_id");
    expect(rows).toEqual([{ owner: null }, { owner: 9 }]);
  });

  it("refuse a position that the column can't hold, and leave nothing", async () => {
    await using t = await setup();
    const run = await openRun(t);
    const beyond = [tick(1, [cell(1)]), tick(2, [cell(2, { x: 2 ** 31 })])];
    for (const write of [copyEnvironmentData, mergeEnvironmentData])
      await expect(run.transaction((tx) => write(tx, beyond))).rejects.toMatchObject({
        code: "BATCH_INVALID",
        message: "x 2147483648 is beyond 2147483647, the most that is stored.",
      });
    expect((await contents(run)).environment_data).toEqual([]);
  });

  it("refuse a cell that is twice in one tick, first delivery or not", async () => {
    await using t = await setup();
    const run = await openRun(t);
    const twice = [tick(1, [cell(4), cell(4, { value: 6 })])];
    for (const write of [copyEnvironmentData, mergeEnvironmentData])
      await expect(run.transaction((tx) => write(tx, twice))).rejects.toMatchObject({ code: "23505" });
  });

  it("take no ticks, ticks without cells, and more rows than a chunk holds", async () => {
    await using t = await setup();
    const run = await openRun(t);
    const wide = tick(
      3,
      Array.from({ length: 5_000 }, (_, id) => cell(id, { owner: BigInt(id % 2) })),
    );
    const written = await run.transaction(async (tx) => [
      await copyEnvironmentData(tx, []),
      await mergeEnvironmentData(tx, []),
      await mergeOrganisms(tx, []),
      await mergeTickStatistics(tx, []),
      await copyEnvironmentData(tx, [tick(2, []), wide]),
      await mergeEnvironmentData(tx, [wide]),
    ]);
    expect(written).toEqual([0, 0, 0, 0, 5_000, 0]);
    const { rows } = await run.query(
      "SELECT count(*) AS n, sum(cell_id) AS s, count(owner) AS o FROM sim.environment_data",
    );
    expect(rows).toEqual([{ n: 5_000, s: "12497500", o: 2_500 }]);
  });

  it("merge adds what is missing and keeps what is there", async () => {
    await using t = await setup();
    const run = await openRun(t);
    const all = [tick(1, [cell(1), cell(2), cell(3)]), tick(2, [cell(1)])];
    await run.transaction((tx) => copyEnvironmentData(tx, [tick(1, [cell(2)])]));
    expect(await run.transaction((tx) => mergeEnvironmentData(tx, [...all, ...all]))).toBe(3);
    expect((await contents(run)).environment_data).toEqual([
      "(1,1,,1,1,5,1)",
      "(1,2,,2,1,5,1)",
      "(1,3,,3,1,5,1)",
      "(2,1,,1,1,5,1)",
    ]);
  });

  it("merge twice in one transaction", async () => {
    await using t = await setup();
    const run = await openRun(t);
    const merged = await run.transaction(async (tx) => [
      await mergeEnvironmentData(tx, [tick(1, [cell(1)])]),
      await mergeEnvironmentData(tx, [tick(2, [cell(1)])]),
    ]);
    expect(merged).toEqual([1, 1]);
  });

  it("merging lives that are known already touches no row", async () => {
    await using t = await setup();
    const run = await openRun(t);
    const ticks = [
      create(TickDataSchema, { organisms: [create(OrganismSchema, { organismId: 1n, deathTick: 5n })] }),
    ];
    await run.transaction((tx) => mergeOrganisms(tx, ticks));
    const place = async () => (await run.query("SELECT ctid, xmin, xmax FROM sim.organisms")).rows;
    const before = await place();
    expect(await run.transaction((tx) => mergeOrganisms(tx, ticks))).toBe(0);
    expect(await place()).toEqual(before);
  });
});

/** A tick that shows organism 1, dead since tick 5 or alive. */
const showing = (tickNumber: bigint, deathTick?: bigint) =>
  create(TickDataSchema, {
    tickNumber,
    organisms: [
      create(OrganismSchema, {
        organismId: 1n,
        birthTick: 2n,
        ...(deathTick !== undefined && { deathTick }),
      }),
    ],
  });

describe("lives that two transactions tell of at once", () => {
  it.each([
    ["death first", showing(6n, 5n), showing(3n)],
    ["death last", showing(3n), showing(6n, 5n)],
  ])("keep the death: %s", async (_, first, second) => {
    await using t = await setup();
    const run = await openRun(t);
    const firstMayCommit = deferred<undefined>();
    const firstWrote = deferred<undefined>();
    const one = run.transaction(async (tx) => {
      await mergeOrganisms(tx, [first]);
      firstWrote.resolve(undefined);
      await firstMayCommit.promise;
    });
    await firstWrote.promise;
    const two = run.transaction((tx) => mergeOrganisms(tx, [second]));
    await untilBlocked(run);
    firstMayCommit.resolve(undefined);
    await Promise.all([one, two]);
    expect((await contents(run)).organisms).toEqual(["(1,2,,5)"]);
  });
});

/** Waits until a statement of another connection waits for a lock. */
async function untilBlocked(run: RunDatabase): Promise<void> {
  const { rowCount } = await run.query(
    "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
  );
  if (rowCount === 0) await untilBlocked(run);
}

/** As the indexers do: a first delivery is copied, what may be there already is merged. */
async function index(tx: Transaction, ticks: readonly TickData[], isFirst: boolean): Promise<void> {
  await (isFirst ? copyEnvironmentData : mergeEnvironmentData)(tx, ticks);
  await (isFirst ? copyOrganismData : mergeOrganismData)(tx, ticks);
  await mergeTickStatistics(tx, ticks, { samplingInterval });
  await mergeOrganisms(tx, ticks);
}

const samplingInterval = 2;
const ticksPerFile = 3;

interface Life {
  readonly birth: number;
  readonly years: number;
  readonly parent: number | undefined;
}

/** The sampled ticks of a small history, in files. */
function filesOf(lives: readonly Life[], samples: number): TickData[][] {
  const ticks = Array.from({ length: samples }, (_, sample) => tickOf(lives, sample * samplingInterval));
  return Array.from({ length: Math.ceil(samples / ticksPerFile) }, (_, file) =>
    ticks.slice(file * ticksPerFile, (file + 1) * ticksPerFile),
  );
}

/** An organism is in the tick while it lives, and in the first sampled tick after its death. */
function tickOf(lives: readonly Life[], now: number): TickData {
  const seen = [...lives.entries()].filter(
    ([, { birth, years }]) => birth <= now && birth + years > now - samplingInterval,
  );
  return create(TickDataSchema, {
    tickNumber: BigInt(now),
    cells: seen.map(([id]) => cell(id * 3 + (now % 3), { owner: BigInt(id), value: now })),
    organisms: seen.map(([id, { birth, years, parent }]) =>
      create(OrganismSchema, {
        organismId: BigInt(id),
        birthTick: BigInt(birth),
        energy: now - birth,
        age: Math.min(now - birth, years),
        ...(parent !== undefined && { parentId: BigInt(parent) }),
        ...(birth + years <= now && { deathTick: BigInt(birth + years) }),
      }),
    ),
  });
}

/** The rows of `organisms` that a run of so many samples must leave. */
function expectedOrganisms(lives: readonly Life[], samples: number): string[] {
  const nows = Array.from({ length: samples }, (_, sample) => sample * samplingInterval);
  return [...lives.entries()].flatMap(([id, { birth, years, parent }]) => {
    const death = birth + years;
    const seen = nows.filter((now) => birth <= now && death > now - samplingInterval);
    const isDead = seen.some((now) => death <= now);
    return seen.length === 0 ? [] : [`(${id},${birth},${parent ?? ""},${isDead ? death : ""})`];
  });
}

const history = fc
  .record({
    lives: fc.array(
      fc.record({
        birth: fc.nat(20),
        years: fc.integer({ min: 1, max: 15 }),
        parent: fc.option(fc.nat(9), { nil: undefined }),
      }),
      { maxLength: 10 },
    ),
    samples: fc.integer({ min: 1, max: 14 }),
  })
  .map(({ lives, samples }) => ({
    files: filesOf(lives, samples),
    organisms: expectedOrganisms(lives, samples),
  }));

/** Files as they may come: in any order, again, and several in one flush. */
const delivery = history.chain(({ files, organisms }) =>
  fc.record({
    files: fc.constant(files),
    organisms: fc.constant(organisms),
    order: fc.shuffledSubarray([...files.keys()], { minLength: files.length }),
    again: fc.array(fc.nat(files.length - 1), { maxLength: 5 }),
    filesPerFlush: fc.integer({ min: 1, max: 3 }),
    decodes: fc.boolean(),
  }),
);

describe("any order and any repetition of files", () => {
  it("gives the tables of an uninterrupted pass", async () => {
    await using t = await setup();
    const run = await openRun(t);
    const empty = () =>
      run.query(
        `TRUNCATE ${Object.keys(tables)
          .map((table) => `sim.${table}`)
          .join()}`,
      );
    await fc.assert(
      fc.asyncProperty(delivery, async ({ files, organisms, order, again, filesPerFlush, decodes }) => {
        await empty();
        for (const file of files) await run.transaction((tx) => index(tx, file, true));
        const expected = { ...(await contents(run)), organisms };
        await empty();
        const deliveries = [...order, ...again];
        const done = new Set<number>();
        while (deliveries.length > 0) {
          const flush = deliveries.splice(0, filesPerFlush);
          const isFirst = new Set(flush).size === flush.length && !flush.some((file) => done.has(file));
          const ticks = flush.flatMap((file) => files[file] as TickData[]);
          const packed = ticks.map((each) => decodeTick(toBinary(TickDataSchema, each)));
          await run.transaction((tx) => index(tx, decodes ? packed : ticks, isFirst));
          for (const file of flush) done.add(file);
        }
        expect(await contents(run)).toEqual(expected);
      }),
      { numRuns: Number(process.env.TALLYMAN_PROPERTY_RUNS ?? 40), seed: 7 },
    );
  });
});
