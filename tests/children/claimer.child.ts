/**
 * Competes for the files batch_0 … batch_(argv[2] - 1) of run-1, a page at a time, and leaves one row
 * in `effects` per file, in the transaction that completes it. Prints "working" with its first file and
 * "done N" at the end. Takes over what dead instances left until nothing is open. It begins when nobody holds the
 * gate: whoever does lets several begin at the same moment.
 */
import { ClaimLostError, createBatchCoordinator } from "../../src/coordination/index.ts";
import { Database } from "../../src/database/index.ts";
import { crashPoint, sleep } from "../../src/runtime/index.ts";

const fileCount = Number(process.argv[2]);
const page = 10;
const database = await Database.connect({ url: process.env.DATABASE_URL ?? "", listenUrl: null });
const coordinator = createBatchCoordinator(database, { leaseMs: 1_000 });
coordinator.setSimulationRun("run-1");
const ready = coordinator.setIndexerClass("Dummy");
let done = 0;

async function process1(filename: string): Promise<void> {
  try {
    await database.transaction(async (tx) => {
      await tx.query("INSERT INTO effects (filename, instance) VALUES ($1, $2)", [
        filename,
        ready.instanceId,
      ]);
      crashPoint("claimer.before-complete");
      await ready.markCompleted(filename, { tx });
    });
  } catch (error) {
    if (error instanceof ClaimLostError) return; // it took too long, and another instance has the file now
    throw error;
  }
  ready.settleClaims([filename]);
  crashPoint("claimer.after-commit");
  if (++done === 1) process.stdout.write("working\n");
}

process.stdout.write("ready\n");
await database.query("SELECT pg_advisory_lock_shared(1), pg_advisory_unlock_shared(1)");
for (let first = 0; first < fileCount; first += page) {
  const batches = Array.from({ length: Math.min(page, fileCount - first) }, (_, i) => ({
    filename: `batch_${first + i}`,
    tickStart: first + i,
    tickEnd: first + i,
  }));
  const { granted } = await ready.tryClaimMany(batches);
  crashPoint("claimer.after-claim");
  for (const claim of granted) await process1(claim.filename);
}
for (;;) {
  for (const claim of await ready.takeOverExpired(page)) await process1(claim.filename);
  const { rows } = await database.query<{ open: number }>(
    "SELECT count(*) AS open FROM sim_run_1.coordinator_batches WHERE status = 'claimed'",
  );
  if (rows[0]?.open === 0) break;
  await sleep(50);
}
process.stdout.write(`done ${done}\n`);
await database.close();
