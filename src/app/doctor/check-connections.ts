import { serverConnections } from "../../database/index.ts";
import type { Tallyman } from "../tallyman.ts";
import { type Finding, ok, warning } from "./finding.ts";

const usedShareWarning = 0.8;
const remedy = "Lower maxPoolSize, raise max_connections, or put a PgBouncer in between.";

export async function checkConnections({ database }: Tallyman): Promise<Finding> {
  const { used, max } = await serverConnections(database);
  const found = `server uses ${used} of ${max} connections, this pool may open ${database.stats.max}`;
  const isRoomy = used + database.stats.max <= max * usedShareWarning;
  return isRoomy ? ok("connections", found) : warning("connections", found, remedy);
}
