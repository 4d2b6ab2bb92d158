/**
 * Claims and gaps: `node --import tsx bench/coordination.ts [--seconds 5] [--json]`.
 *
 * - claims: files claimed and completed per second by four instances, 500 per statement, beside the
 *   same two statements through pgbench.
 * - reconcileGaps over 10k, 100k and 1M known files: the first time, and once they are folded away.
 */
import { parseArgs } from "node:util";
import { type BatchCoordinatorReady, createBatchCoordinator } from "../src/coordination/index.ts";
import { claimBatches } from "../src/coordination/sql/claim-batches.ts";
import { endClaims } from "../src/coordination/sql/claims.ts";
import { type Database, ensureRunSchema } from "../src/database/index.ts";
import { pgbenchRate, textOf, withValues } from "./harness/pgbench.ts";
import { startBenchServer } from "./harness/server.ts";

const { values: flags } = parseArgs({
  options: { seconds: { type: "string", default: "5" }, json: { type: "boolean" } },
});
const seconds = Number(flags.seconds);
const instances = 4;
const filesPerStatement = 500;

function coordinator(database: Database, runId: string): BatchCoordinatorReady {
  const created = createBatchCoordinator(database);
  created.setSimulationRun(runId);
  return created.setIndexerClass("Bench");
}

async function claimRate(database: Database): Promise<number> {
  await ensureRunSchema(database, "claims");
  const deadline = performance.now() + seconds * 1000;
  const work = async (instance: number) => {
    const ready = coordinator(database, "claims");
    let files = 0;
    while (performance.now() < deadline) {
      const batches = Array.from({ length: filesPerStatement }, (_, i) => ({
        filename: `batch_${instance}_${files + i}`,
        tickStart: files + i,
        tickEnd: files + i,
      }));
      await ready.tryClaimMany(batches);
      await ready.markCompletedMany(batches.map((batch) => batch.filename));
      files += filesPerStatement;
    }
    return files;
  };
  const done = await Promise.all(Array.from({ length: instances }, (_, instance) => work(instance)));
  return done.reduce((sum, files) => sum + files) / seconds;
}

/** The two statements of a claim and a completion, as the coordinator sends them. */
async function pgbenchScript(): Promise<string> {
  const claimant = { indexerClass: "", instanceId: "", leaseMs: 0 };
  const claim = await textOf((executor) => claimBatches(executor, claimant, []));
  const complete = await textOf((executor) => endClaims(executor, "", "completed", []));
  const series = (expression: string) =>
    `ARRAY(SELECT ${expression} FROM generate_series(1, ${filesPerStatement}) i)`;
  const files = series("'p_' || (:base + i)");
  const versions = series("1::bigint");
  const ticks = series("i::bigint");
  return [
    "\\set base random(1, 1000000000)",
    `${withValues(claim, ["'Limit'::text", "'p'", "60000", files, ticks, ticks])};`,
    `${withValues(complete, ["'Limit'::text", "'completed'", "NULL", files, versions])};`,
  ]
    .join("\n")
    .replaceAll("sim.", "sim_claims.");
}

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
  const ready = coordinator(database, runId);
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
const ours = await claimRate(server.database);
const limit = await pgbenchRate({
  url: server.url,
  script: await pgbenchScript(),
  clients: instances,
  seconds,
});
const limitFiles = limit === undefined ? undefined : limit * filesPerStatement;
const gaps = [];
for (const files of [10_000, 100_000, 1_000_000]) gaps.push(await reconcileTimes(server.database, files));
const result = {
  claims: {
    ours: Math.round(ours),
    limit: limitFiles === undefined ? "pgbench is missing" : Math.round(limitFiles),
    ratio: limitFiles === undefined ? undefined : Number((ours / limitFiles).toFixed(2)),
  },
  reconcileGaps: gaps,
};
if (flags.json) console.log(JSON.stringify(result, null, 2));
else {
  console.log(
    `claims and completions: ${result.claims.ours}/s, pgbench ${result.claims.limit}/s, ratio ${result.claims.ratio}`,
  );
  console.table(gaps);
}
