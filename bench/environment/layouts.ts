import type { RunDatabase } from "../../src/database/index.ts";

/** Ways to lay out a row, as column definitions and what fills them. */
const layouts: Readonly<Record<string, { columns: string; values: string; key?: string }>> = {
  "as it is": {
    columns: "tick_number bigint, cell_id bigint, owner bigint, x int, y int, value int, state int",
    values: "tick_number, cell_id, owner, x, y, value, state",
  },
  "key pages filled to the brim": {
    columns: "tick_number bigint, cell_id bigint, owner bigint, x int, y int, value int, state int",
    values: "tick_number, cell_id, owner, x, y, value, state",
    key: "WITH (fillfactor = 100)",
  },
  "columns as they are told of, owner 0": {
    columns: "tick_number bigint, cell_id int, x int, y int, state smallint, value int, owner bigint",
    values: "tick_number, cell_id, x, y, state, value, coalesce(owner, 0)",
  },
  "cell_id int, x and y smallint": {
    columns:
      "tick_number bigint, owner bigint, cell_id int, value int, x smallint, y smallint, state smallint",
    values: "tick_number, owner, cell_id, value, x, y, state",
  },
  "all bigint": {
    columns:
      "tick_number bigint, cell_id bigint, owner bigint, x bigint, y bigint, value bigint, state bigint",
    values: "tick_number, cell_id, owner, x, y, value, state",
  },
};

/** What a row costs in one layout. */
export interface LayoutCost {
  readonly layout: string;
  readonly tableBytesPerRow: number;
  readonly keyBytesPerRow: number;
  /** Median time of the server for one row, read from another table. */
  readonly microsecondsPerRow: number;
}

/** Fills each layout with the rows of environment_data, `rounds` times by turns. */
export async function compareLayouts(run: RunDatabase, rounds: number): Promise<LayoutCost[]> {
  const { rows } = await run.query<{ n: number }>("SELECT count(*) AS n FROM sim.environment_data");
  const count = rows[0]?.n ?? 0;
  const times = new Map<string, number[]>();
  const sizes = new Map<string, { tableBytes: number; keyBytes: number }>();
  for (let round = 0; round < rounds; round++) {
    for (const layout of Object.keys(layouts)) {
      const { ms, ...size } = await fill(run, layout);
      times.set(layout, [...(times.get(layout) ?? []), ms]);
      sizes.set(layout, size);
    }
  }
  return Object.keys(layouts).map((layout) => ({
    layout,
    tableBytesPerRow: (sizes.get(layout)?.tableBytes ?? 0) / count,
    keyBytesPerRow: (sizes.get(layout)?.keyBytes ?? 0) / count,
    microsecondsPerRow: ((times.get(layout)?.toSorted((a, b) => a - b)[rounds >> 1] ?? 0) * 1000) / count,
  }));
}

async function fill(
  run: RunDatabase,
  layout: string,
): Promise<{ ms: number; tableBytes: number; keyBytes: number }> {
  const { columns = "", values = "", key = "" } = layouts[layout] ?? {};
  await run.query(`CREATE TABLE sim.layout (${columns}, PRIMARY KEY (tick_number, cell_id) ${key})`);
  await run.query("CHECKPOINT");
  const start = performance.now();
  await run.query(
    `INSERT INTO sim.layout SELECT ${values} FROM sim.environment_data ORDER BY tick_number, cell_id`,
  );
  const ms = performance.now() - start;
  const { rows } = await run.query<{ tableBytes: number; keyBytes: number }>(
    `SELECT pg_relation_size('sim.layout') AS "tableBytes", pg_indexes_size('sim.layout') AS "keyBytes"`,
  );
  await run.query("DROP TABLE sim.layout");
  return { ms, tableBytes: rows[0]?.tableBytes ?? 0, keyBytes: rows[0]?.keyBytes ?? 0 };
}
