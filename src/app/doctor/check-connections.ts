import type { Tallyman } from "../tallyman.ts";
import { type Finding, ok, warning } from "./finding.ts";

const usedShareWarning = 0.8;

export async function checkConnections({ database }: Tallyman): Promise<Finding> {
  const { rows } = await database.query<{ used: number; max: number }>(
    `SELECT count(*)::int AS used, current_setting('max_connections')::int AS max
     FROM pg_stat_activity WHERE backend_type = 'client backend'`,
  );
  const { used = 0, max = 0 } = rows[0] ?? {};
  const found = `server uses ${used} of ${max} connections, this pool may open ${database.stats.max}`;
  if (used + database.stats.max <= max * usedShareWarning) return ok("connections", found);
  return warning(
    "connections",
    found,
    "Lower maxPoolSize, raise max_connections, or put a PgBouncer in between.",
  );
}
