import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type BenchContext, commands } from "./scenarios.ts";

const program = "/usr/lib/postgresql/15/bin/pgbench";
const clients = 2;
const groupSize = 500;

/** What a worker's claims and groups of outcomes cost the server alone: the same functions, called by pgbench. */
const script = `
SELECT quote_literal(array_agg(id)::text) AS ids, quote_literal(array_agg(delivery)::text) AS deliveries, count(*) AS n,
  sum(length(data::text)) AS bytes
FROM tallyman.command_bus_claim('bench', ${groupSize}, 30000, 'pgbench', '{}') \\gset
SELECT cardinality(stale) FROM tallyman.command_bus_settle('PENDING', 'COMPLETED', 'COMPLETED', 1, :ids::bigint[],
  :deliveries::integer[], NULL, NULL, NULL, NULL, NULL, NULL);
`;

/** Drains a batch with pgbench. */
export async function pgbenchDrain({ bus, database, url, count }: BenchContext) {
  if (!existsSync(program)) return { skipped: `${program} is not there` };
  await bus.createBatch("bench", commands(count));
  await database.query("CHECKPOINT");
  const folder = await mkdtemp(join(tmpdir(), "tallyman-bench-"));
  const file = join(folder, "drain.sql");
  await writeFile(file, script);
  const transactions = String(Math.floor(count / groupSize / clients));
  const startMs = performance.now();
  await promisify(execFile)(program, [
    "-n",
    "-c",
    String(clients),
    "-j",
    "1",
    "-t",
    transactions,
    "-f",
    file,
    url,
  ]);
  const seconds = (performance.now() - startMs) / 1000;
  await rm(folder, { recursive: true });
  const { rows } = await database.query<{ n: number }>(
    "SELECT count(*)::int AS n FROM tallyman.command_bus_command WHERE status = 'COMPLETED'",
  );
  return { perSecond: Math.round((rows[0]?.n ?? 0) / seconds), completed: rows[0]?.n };
}
