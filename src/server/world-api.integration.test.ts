import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { expectRefusals, openServer } from "../../tests/kit/api.ts";
import { decodeWorld } from "../client/index.ts";
import { CellSchema, CellState, OrganismSchema, TickDataSchema } from "../contracts/index.ts";
import { ensureRunSchema } from "../database/index.ts";
import {
  copyEnvironmentData,
  copyOrganismData,
  mergeOrganisms,
  mergeTickStatistics,
} from "../pipeline/index.ts";
import { setup, type TestContext } from "../testing/index.ts";

const runId = "run-1";
const params = { runId };

/** Organism 1 owns a cell and lives; 2 dies at tick 25. Cell 300 is far out and has a negative value. */
function tickAt(now: number) {
  const organisms = [
    { organismId: 1n, birthTick: 0n, x: now, y: 1, energy: 100, age: now },
    {
      organismId: 2n,
      parentId: 1n,
      birthTick: 10n,
      x: 5,
      y: 5,
      energy: 40,
      ...(now > 25 && { deathTick: 25n }),
    },
  ].filter(({ birthTick, organismId }) => birthTick <= now && !(organismId === 2n && now > 30));
  return create(TickDataSchema, {
    tickNumber: BigInt(now),
    cells: [
      create(CellSchema, { cellId: 7, x: 7, y: 0, state: CellState.BODY, value: 100, owner: 1n }),
      create(CellSchema, { cellId: 300, x: 44, y: 70_000, state: CellState.WALL, value: -5 }),
    ],
    organisms: organisms.map((organism) => create(OrganismSchema, organism)),
  });
}

/** Ticks 10, 20, … 50 of the run. */
async function prepare(t: TestContext): Promise<void> {
  const run = t.database.forRun(await ensureRunSchema(t.database, runId));
  const ticks = [10, 20, 30, 40, 50].map(tickAt);
  await run.transaction(async (tx) => {
    await copyEnvironmentData(tx, ticks);
    await copyOrganismData(tx, ticks);
    await mergeTickStatistics(tx, ticks, { samplingInterval: 10 });
    await mergeOrganisms(tx, ticks);
  });
}

describe("the indexed world over HTTP", () => {
  it("shows the cells at a tick, as JSON and as bytes", async () => {
    await using t = await setup();
    const { client } = await openServer(t);
    await prepare(t);
    const world = (query: { tick: number; exact?: boolean; cellsMax?: number; afterCellId?: number }) =>
      client.call("GET /api/runs/:runId/environment", { params, query });
    const cells = [
      { cellId: 7, x: 7, y: 0, state: CellState.BODY, value: 100, owner: 1 },
      { cellId: 300, x: 44, y: 70_000, state: CellState.WALL, value: -5, owner: null },
    ];
    expect(await world({ tick: 25 })).toEqual({ tickNumber: 20, cells, truncated: false });
    expect(await world({ tick: 20, exact: true, cellsMax: 1 })).toEqual({
      tickNumber: 20,
      cells: cells.slice(0, 1),
      truncated: true,
    });
    expect(await world({ tick: 20, afterCellId: 7 })).toMatchObject({ cells: cells.slice(1) });
    const bytes = await client.bytes("GET /api/runs/:runId/environment", { params, query: { tick: 25 } });
    expect(bytes.byteLength).toBe(24 + 2 * 21);
    expect(decodeWorld(bytes)).toEqual({
      tickNumber: 20,
      lastCellId: 300,
      truncated: false,
      owner: Float64Array.of(1, 0),
      x: Uint32Array.of(7, 44),
      y: Uint32Array.of(0, 70_000),
      value: Int32Array.of(100, -5),
      state: Uint8Array.of(CellState.BODY, CellState.WALL),
    });
    const early = client.bytes("GET /api/runs/:runId/environment", { params, query: { tick: 9 } });
    await expect(early).rejects.toMatchObject({ status: 404, code: "TICK_NOT_INDEXED" });
  });

  it("says what the bytes are, and does not send twice what the client has", async () => {
    await using t = await setup();
    const { server } = await openServer(t);
    await prepare(t);
    await t.database.query(
      `INSERT INTO sim_run_1.environment_data (tick_number, cell_id, x, y, value, state)
       SELECT 60, id, id, 0, 1, 1 FROM generate_series(1, 1000) AS id`,
    );
    const url = `${server.url}/api/runs/run-1/environment?tick=60&format=binary`;
    const answer = await fetch(url);
    expect(answer.headers.get("content-type")).toBe("application/octet-stream");
    expect(decodeWorld(await answer.arrayBuffer()).x).toHaveLength(1_000);
    const etag = answer.headers.get("etag") ?? "";
    expect((await fetch(url, { headers: { "if-none-match": etag } })).status).toBe(304);
  });

  it("shows who lives at a tick, and an organism's life", async () => {
    await using t = await setup();
    const { client } = await openServer(t);
    await prepare(t);
    const living = (query: { tick: number; organismsMax?: number; afterOrganismId?: number }) =>
      client.call("GET /api/runs/:runId/organisms", { params, query });
    const first = { organismId: 1, x: 20, y: 1, energy: 100, age: 20 };
    const second = { organismId: 2, x: 5, y: 5, energy: 40, age: 0 };
    expect(await living({ tick: 29 })).toEqual({
      tickNumber: 20,
      organisms: [first, second],
      truncated: false,
    });
    expect(await living({ tick: 20, organismsMax: 1 })).toMatchObject({
      organisms: [first],
      truncated: true,
    });
    expect(await living({ tick: 20, afterOrganismId: 1 })).toMatchObject({ organisms: [second] });
    // Number 2 is in the tick after its death, and not alive in it.
    expect(await living({ tick: 30 })).toMatchObject({ tickNumber: 30, organisms: [{ organismId: 1 }] });
    const life = await client.call("GET /api/runs/:runId/organisms/:organismId", {
      params: { runId, organismId: 2 },
    });
    expect(life).toMatchObject({ birthTick: 10, deathTick: 25, parentId: 1, children: 0 });
    expect(life.path.map(({ tickNumber }) => tickNumber)).toEqual([10, 20, 30]);
  });

  it("sums up statistics, and tells from where to where a run is indexed", async () => {
    await using t = await setup();
    const { client } = await openServer(t);
    await prepare(t);
    const statistics = await client.call("GET /api/runs/:runId/statistics", {
      params,
      query: { from: 15, to: 45, buckets: 1 },
    });
    expect(statistics).toMatchObject([
      { firstTick: 20, lastTick: 40, ticks: 3, populationMin: 1, populationMax: 2, deaths: 1 },
    ]);
    const range = { firstTick: 10, lastTick: 50 };
    expect(await client.call("GET /api/runs/:runId/indexed", { params })).toEqual({
      environment: range,
      organisms: range,
      statistics: range,
    });
    await ensureRunSchema(t.database, "run-2");
    expect(await client.call("GET /api/runs/:runId/indexed", { params: { runId: "run-2" } })).toEqual({
      environment: null,
      organisms: null,
      statistics: null,
    });
  });

  it("says what is wrong, with the field", async () => {
    await using t = await setup();
    const { server } = await openServer(t);
    await prepare(t);
    const run = "GET /api/runs/run-1";
    await expectRefusals(server, [
      ["GET /api/runs/nothing/environment?tick=1", undefined, 404, "RUN_NOT_FOUND"],
      ["GET /api/runs/nothing/organisms?tick=1", undefined, 404, "RUN_NOT_FOUND"],
      ["GET /api/runs/nothing/organisms/1", undefined, 404, "RUN_NOT_FOUND"],
      ["GET /api/runs/nothing/statistics", undefined, 404, "RUN_NOT_FOUND"],
      ["GET /api/runs/nothing/indexed", undefined, 404, "RUN_NOT_FOUND"],
      [`${run}/environment?tick=25&exact=true`, undefined, 404, "TICK_NOT_INDEXED"],
      [`${run}/organisms?tick=9`, undefined, 404, "TICK_NOT_INDEXED"],
      [`${run}/organisms/99`, undefined, 404, "ORGANISM_NOT_FOUND"],
      [`${run}/environment`, undefined, 400, "tick"],
      [`${run}/environment?tick=-1`, undefined, 400, "tick"],
      [`${run}/environment?tick=9223372036854775808`, undefined, 400, "tick"],
      [`${run}/environment?tick=1&format=xml`, undefined, 400, "format"],
      [`${run}/environment?tick=1&cellsMax=100001`, undefined, 400, "cellsMax"],
      [`${run}/environment?tick=1&exact=perhaps`, undefined, 400, "exact"],
      [`${run}/organisms/one`, undefined, 400, "organismId"],
      [`${run}/organisms/1?pointsMax=1`, undefined, 400, "pointsMax"],
      [`${run}/statistics?from=2&to=1`, undefined, 400, "to"],
      [`${run}/statistics?buckets=0`, undefined, 400, "buckets"],
      ["GET /api/runs/sim.metadata--/indexed", undefined, 400, "runId"],
    ]);
  });
});
