import type { Executor } from "../executor.ts";

/** The server's version as it says it, e.g. `18.4`. */
export async function serverVersion(executor: Executor): Promise<string> {
  const { rows } = await executor.query<{ version: string }>(
    "SELECT current_setting('server_version') AS version",
  );
  return rows[0]?.version ?? "";
}

/** The database's clock, which alone decides. */
export async function serverNow(executor: Executor): Promise<Date> {
  const { rows } = await executor.query<{ now: Date }>("SELECT clock_timestamp() AS now");
  return rows[0]?.now ?? new Date(Number.NaN);
}

/** How many client connections the server has, and how many it takes. */
export async function serverConnections(executor: Executor): Promise<{ used: number; max: number }> {
  const { rows } = await executor.query<{ used: number; max: number }>(
    `SELECT count(*)::int AS used, current_setting('max_connections')::int AS max
     FROM pg_stat_activity WHERE backend_type = 'client backend'`,
  );
  return rows[0] ?? { used: 0, max: 0 };
}
