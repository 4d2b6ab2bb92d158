import type { Database } from "../../src/database/index.ts";
import { ownSeconds, serverSeconds } from "./processor-time.ts";
import type { Done } from "./scenario.ts";

/** What one run of one contender gave: items, seconds, and further figures by name. */
export interface Sample {
  readonly items: number;
  readonly seconds: number;
  readonly [figure: string]: number;
}

/** What every sample has beside its own figures, as far as the system tells, with units. */
export const costFigures: Readonly<Record<string, string>> = {
  walBytesPerItem: "WAL bytes per item",
  commitsPerItem: "writing transactions per item",
  clientMicrosPerItem: "client CPU µs per item",
  serverMicrosPerItem: "server CPU µs per item",
  peakMegabytes: "client's peak MB",
};

interface Readings {
  readonly walBytes: number;
  readonly transactions: number;
  readonly clientSeconds: number | undefined;
  readonly serverSeconds: number | undefined;
}

/** Brings the server to the same state for everybody, then takes clock, WAL, transactions and processor time. */
export async function measure(database: Database, work: () => Promise<Done>): Promise<Sample> {
  await database.query("ANALYZE");
  await database.query("CHECKPOINT");
  const before = await readings(database);
  const startMs = performance.now();
  const done = await work();
  const elapsed = (performance.now() - startMs) / 1_000;
  const after = await readings(database);
  const { items, seconds } = typeof done === "number" ? { items: done, seconds: elapsed } : done;
  return { items, seconds, perSecond: items / seconds, ...costs(before, after, items) };
}

function costs(before: Readings, after: Readings, items: number): Record<string, number> {
  const perItem = (pick: (from: Readings) => number | undefined, scale = 1) =>
    (((pick(after) ?? Number.NaN) - (pick(before) ?? Number.NaN)) * scale) / items;
  const all = {
    walBytesPerItem: perItem((from) => from.walBytes),
    commitsPerItem: perItem((from) => from.transactions),
    clientMicrosPerItem: perItem((from) => from.clientSeconds, 1e6),
    serverMicrosPerItem: perItem((from) => from.serverSeconds, 1e6),
    peakMegabytes: process.resourceUsage().maxRSS / 1_024,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => Number.isFinite(value)));
}

/**
 * WAL by its position and writing transactions by their ids: both are exact at once. `pg_stat_wal` and
 * `pg_stat_database` count the same, but a session hands in its counts up to ten seconds late.
 */
async function readings(database: Database): Promise<Readings> {
  const { rows } = await database.query<{ walBytes: number; transactions: number; postmaster: number }>(
    `SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::int8 AS "walBytes",
            pg_snapshot_xmax(pg_current_snapshot())::text::int8 AS transactions,
            split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int AS postmaster`,
  );
  const [{ walBytes, transactions, postmaster }] = rows as [(typeof rows)[number]];
  return {
    walBytes,
    transactions,
    clientSeconds: ownSeconds(),
    serverSeconds: serverSeconds(postmaster),
  };
}
