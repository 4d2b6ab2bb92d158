import { Type } from "typebox";
import { openRun } from "../../database/index.ts";
import { TallymanError } from "../../errors/index.ts";
import {
  indexedTicks,
  organismLife,
  organismsAtTick,
  statisticsOverRange,
  worldAtTick,
} from "../../pipeline/index.ts";
import { encodeWorld, worldBytesDescription } from "../encode-world.ts";
import { closed, route } from "../route.ts";
import { invalidField, MaybeInteger, MaybeNumber, oneOf, RunId, Tick } from "../schemas.ts";

const cellsMax = 100_000;
const organismsMax = 10_000;
const pointsMax = 2_000;
const bucketsMax = 2_000;

const count = Type.Integer();

const Cell = Type.Object(
  { cellId: count, x: count, y: count, state: count, value: count, owner: MaybeInteger },
  closed,
);

const World = Type.Object({ tickNumber: count, cells: Type.Array(Cell), truncated: Type.Boolean() }, closed);

const fate = { x: count, y: count, energy: count, age: count };

const Organisms = Type.Object(
  {
    tickNumber: count,
    organisms: Type.Array(Type.Object({ organismId: count, ...fate }, closed)),
    truncated: Type.Boolean(),
  },
  closed,
);

const Life = Type.Object(
  {
    organismId: count,
    birthTick: count,
    parentId: MaybeInteger,
    deathTick: MaybeInteger,
    children: count,
    path: Type.Array(Type.Object({ tickNumber: count, ...fate }, closed)),
  },
  closed,
);

const StatisticsBucket = Type.Object(
  {
    firstTick: count,
    lastTick: count,
    ticks: count,
    population: Type.Number(),
    populationMin: count,
    populationMax: count,
    births: count,
    deaths: count,
    totalEnergy: Type.Number(),
    meanEnergy: MaybeNumber,
    cells: Type.Number(),
  },
  closed,
);

const MaybeRange = Type.Union([Type.Object({ firstTick: count, lastTick: count }, closed), Type.Null()]);

const OneRun = Type.Object({ runId: RunId }, closed);

/** What indexers made of a run: the world at any indexed tick, organisms, statistics. */
export const worldRoutes = {
  "GET /api/runs/:runId/indexed": route(
    {
      summary: "Get the first and last indexed tick of each kind of data",
      role: "read",
      params: OneRun,
      data: Type.Object({ environment: MaybeRange, organisms: MaybeRange, statistics: MaybeRange }, closed),
    },
    async ({ database }, { params: { runId } }) => {
      const { environment, organisms, statistics } = await indexedTicks(await openRun(database, runId));
      return {
        environment: environment ?? null,
        organisms: organisms ?? null,
        statistics: statistics ?? null,
      };
    },
  ),

  "GET /api/runs/:runId/environment": route(
    {
      summary: "Get the cells of the world at a tick, or at the newest indexed one before it",
      role: "read",
      params: OneRun,
      query: Type.Object(
        {
          tick: Tick,
          exact: Type.Optional(Type.Boolean()),
          cellsMax: Type.Optional(Type.Integer({ minimum: 1, maximum: cellsMax })),
          afterCellId: Type.Optional(Tick),
          format: Type.Optional(oneOf(["json", "binary"])),
        },
        closed,
      ),
      data: World,
      binary: { description: worldBytesDescription, encode: encodeWorld },
    },
    async ({ database }, { params: { runId }, query: { tick, format: _format, ...options } }) => {
      const world = await worldAtTick(await openRun(database, runId), tick, options);
      if (!world) throw tickNotIndexed(runId, tick);
      return world;
    },
  ),

  "GET /api/runs/:runId/organisms": route(
    {
      summary: "List the organisms that live at a tick, or at the newest indexed one before it",
      role: "read",
      params: OneRun,
      query: Type.Object(
        {
          tick: Tick,
          organismsMax: Type.Optional(Type.Integer({ minimum: 1, maximum: organismsMax })),
          afterOrganismId: Type.Optional(Tick),
        },
        closed,
      ),
      data: Organisms,
    },
    async ({ database }, { params: { runId }, query: { tick, ...options } }) => {
      const found = await organismsAtTick(await openRun(database, runId), tick, options);
      if (!found) throw tickNotIndexed(runId, tick);
      return found;
    },
  ),

  "GET /api/runs/:runId/organisms/:organismId": route(
    {
      summary: "Get an organism from birth to death, with its path",
      role: "read",
      params: Type.Object({ runId: RunId, organismId: Tick }, closed),
      query: Type.Object(
        { pointsMax: Type.Optional(Type.Integer({ minimum: 2, maximum: pointsMax })) },
        closed,
      ),
      data: Life,
    },
    async ({ database }, { params: { runId, organismId }, query }) => {
      const life = await organismLife(await openRun(database, runId), organismId, query);
      if (life) return life;
      throw new TallymanError("ORGANISM_NOT_FOUND", `Run ${runId} has no organism ${organismId}.`, {
        details: { runId, organismId },
      });
    },
  ),

  "GET /api/runs/:runId/statistics": route(
    {
      summary: "Get statistics over a range of ticks, in buckets of equal width",
      role: "read",
      params: OneRun,
      query: Type.Object(
        {
          from: Type.Optional(Tick),
          to: Type.Optional(Tick),
          buckets: Type.Optional(Type.Integer({ minimum: 1, maximum: bucketsMax })),
        },
        closed,
      ),
      data: Type.Array(StatisticsBucket),
    },
    async ({ database }, { params: { runId }, query: { from: fromTick, to: toTick, buckets } }) => {
      if ((toTick ?? Number.MAX_SAFE_INTEGER) < (fromTick ?? 0))
        throw invalidField("to", "it comes before 'from'");
      return statisticsOverRange(await openRun(database, runId), { fromTick, toTick, buckets });
    },
  ),
};

function tickNotIndexed(runId: string, tick: number): TallymanError {
  return new TallymanError("TICK_NOT_INDEXED", `Nothing of run ${runId} is indexed at tick ${tick}.`, {
    details: { runId, tick },
  });
}
