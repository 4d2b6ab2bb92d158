import pg from "pg";
import type { Stage } from "../fleet/stage.ts";
import type { FaultOutcome } from "./fault.ts";

/** Works on the database with a connection of the harness's own; missed when the database is down already. */
export async function withClient(
  stage: Stage,
  use: (client: pg.Client) => Promise<FaultOutcome>,
): Promise<FaultOutcome> {
  const client = quietClient(stage);
  try {
    await client.connect();
    return await use(client);
  } catch {
    return "missed";
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** A connection, not yet open, that may be cut without a word. */
export function quietClient(stage: Stage): pg.Client {
  const client = new pg.Client({ connectionString: stage.postgres.url, application_name: "chaos fault" });
  client.on("error", () => undefined);
  return client;
}
