/**
 * Gaps: `node --import tsx bench/coordination.ts [--json]`. Claims are a scenario of `npm run bench`.
 *
 * reconcileGaps over 10k, 100k and 1M known files: the first time, and once they are folded away.
 */
import { parseArgs } from "node:util";
import { createBatchCoordinator } from "../src/coordination/index.ts";
import { type Database, ensureRunSchema } from "../src/database/index.ts";
import { startBenchServer } from "./harness/server.ts";

const { values: flags } = parseArgs({ options: { json: { type: "boolean" } } });

async function reconcileTimes(
  database: Database,
  files: number,
): Promise<{ files: number; firstMs: number; foldedMs: number }> {
  const runId = `gaps-${files}`;
  const schema = await ensureRunSchema(database, runId);
  await database.forRun(schema).query(
    `INSERT INTO sim.batch_files SELECT 'batch_' || i, 'k' || i, i * 100, i * 100 + 90, 1, 1
     FROM generate_series(0, $1::bigint - 1) i WHERE i % 10000 <> 77`,
    [files],
  );
  await database.query("ANALYZE");
  const created = createBatchCoordinator(database);
  created.setSimulationRun(runId);
  const ready = created.setIndexerClass("Bench");
  const timed = async () => {
    const startMs = performance.now();
    const { unsummarised } = await ready.reconcileGaps({ samplingInterval: 10 });
    return { ms: performance.now() - startMs, unsummarised };
  };
  const first = await timed();
  while ((await timed()).unsummarised > 0);
  await database.query(`VACUUM ${schema}.batch_files`); // as autovacuum does when its turn comes
  const folded = await timed();
  return { files, firstMs: Math.round(first.ms), foldedMs: Math.round(folded.ms * 10) / 10 };
}

await using server = await startBenchServer();
const gaps = [];
for (const files of [10_000, 100_000, 1_000_000]) gaps.push(await reconcileTimes(server.database, files));
if (flags.json) console.log(JSON.stringify(gaps, null, 2));
else console.table(gaps);
