/**
 * Claims and gaps: `node --import tsx bench/coordination.ts [--seconds 5] [--json]`.
 *
 * - claims: files claimed and completed per second by four instances, 100 per statement, beside the
 *   same two statements through pgbench.
 * - reconcileGaps over 10k, 100k and 1M known files: the first time, and once they are folded away.
 */
import { parseArgs } from "node:util";
import { type BatchCoordinatorReady, createBatchCoordinator } from "../src/coordination/index.ts";
import { type Database, ensureRunSchema } from "../src/database/index.ts";
import { pgbenchRate } from "./harness/pgbench.ts";
import { startBenchServer } from "./harness/server.ts";

const { values: flags } = parseArgs({
  options: { seconds: { type: "string", default: "5" }, json: { type: "boolean" } },
});
const seconds = Number(flags.seconds);
const instances = 4;
const filesPerStatement = 100;

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
const pgbenchScript = `
\\set base random(1, 1000000000)
WITH wanted AS MATERIALIZED (
  SELECT 'p_' || (:base + i) AS filename, i::bigint AS tick_start, i::bigint AS tick_end FROM generate_series(1, ${filesPerStatement}) i
), inserted AS (
  INSERT INTO sim_claims.coordinator_batches
    (indexer_class, batch_filename, tick_start, tick_end, status, indexer_instance_id, claim_version, lease_until, claimed_at)
  SELECT 'Limit', filename, tick_start, tick_end, 'claimed', 'p', 1, clock_timestamp() + interval '1 minute', clock_timestamp()
  FROM wanted ORDER BY filename ON CONFLICT (indexer_class, batch_filename) DO NOTHING
  RETURNING batch_filename AS filename, claim_version, resume_at, attempts
), expired AS MATERIALIZED (
  SELECT b.batch_filename FROM sim_claims.coordinator_batches b JOIN wanted w ON w.filename = b.batch_filename
  WHERE b.indexer_class = 'Limit' AND b.status = 'claimed' AND b.lease_until <= clock_timestamp()
  ORDER BY b.batch_filename FOR NO KEY UPDATE OF b SKIP LOCKED
), taken_over AS (
  UPDATE sim_claims.coordinator_batches b SET claim_version = b.claim_version + 1 FROM expired e
  WHERE b.indexer_class = 'Limit' AND b.batch_filename = e.batch_filename
  RETURNING b.batch_filename AS filename, b.claim_version, b.resume_at, b.attempts
), granted AS (SELECT * FROM inserted UNION ALL SELECT * FROM taken_over)
SELECT w.filename, g.claim_version, g.resume_at, g.attempts, b.status FROM wanted w LEFT JOIN granted g USING (filename)
LEFT JOIN sim_claims.coordinator_batches b ON b.indexer_class = 'Limit' AND b.batch_filename = w.filename;
UPDATE sim_claims.coordinator_batches b SET status = 'completed', error_message = NULL, completed_at = clock_timestamp()
FROM (SELECT 'p_' || (:base + i) AS filename FROM generate_series(1, ${filesPerStatement}) i) h
WHERE b.indexer_class = 'Limit' AND b.batch_filename = h.filename AND b.claim_version = 1 AND b.status = 'claimed'
RETURNING b.batch_filename;
`;

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
  const folded = await Promise.all([timed()]);
  return { files, firstMs: Math.round(first.ms), foldedMs: Math.round((folded[0]?.ms ?? 0) * 10) / 10 };
}

await using server = await startBenchServer();
const ours = await claimRate(server.database);
const limit = await pgbenchRate({ url: server.url, script: pgbenchScript, clients: instances, seconds });
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
