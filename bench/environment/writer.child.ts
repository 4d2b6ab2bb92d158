/*
 * One indexer as it is: an EnvironmentIndexer that competes for the files of a run, with ledger, gaps and
 * positions. Prints what it did, as one line of JSON, when the run is indexed.
 */
import type { TickData } from "../../src/contracts/index.ts";
import { createBatchCoordinator } from "../../src/coordination/index.ts";
import { Database } from "../../src/database/index.ts";
import { EnvironmentIndexer, type FlushContext, packTick } from "../../src/pipeline/index.ts";
import { configureLogging, sleep } from "../../src/runtime/index.ts";
import { FileSystemStorage } from "../../src/storage/index.ts";

/** What a writer says at its end. */
export interface WriterReport {
  readonly beganAtMs: number;
  readonly endedAtMs: number;
  readonly rows: number;
  /** Encoding, sending and waiting for the rows. */
  readonly writeMs: number;
  readonly processorMs: number;
  readonly peakMemoryMb: number;
}

const [url = "", rootDirectory = "", runId = "", fileCount = "0"] = process.argv.slice(2);
configureLogging({ level: "warn" });

/** The indexer, with a clock. */
class TimedEnvironmentIndexer extends EnvironmentIndexer {
  rows = 0;
  writeMs = 0;

  protected override get indexerClass(): string {
    return "EnvironmentIndexer";
  }

  protected override async flushTicks(ticks: readonly TickData[], context: FlushContext): Promise<void> {
    const start = performance.now();
    await super.flushTicks(ticks, context);
    this.writeMs += performance.now() - start;
    for (const tick of ticks) this.rows += packTick(tick).cellCount;
  }
}

await using database = await Database.connect({ url, poolMax: 3 });
const storage = new FileSystemStorage({ rootDirectory });
const coordinator = createBatchCoordinator(database);
const watched = createBatchCoordinator(database);
watched.setSimulationRun(runId);
const ledger = watched.setIndexerClass("EnvironmentIndexer");
const options = { runId, source: "discovery", pollIntervalMs: 100, flushTimeoutMs: 200 } as const;
await using indexer = new TimedEnvironmentIndexer("environment", { storage, database, coordinator }, options);
const beganAtMs = Date.now();
await indexer.start();
const completed = async () =>
  (await ledger.listInstances()).reduce((sum, instance) => sum + instance.completed, 0);
while ((await completed()) < Number(fileCount)) await sleep(50);
const endedAtMs = Date.now();
await indexer.stop();
const { user, system } = process.cpuUsage();
const report: WriterReport = {
  beganAtMs,
  endedAtMs,
  rows: indexer.rows,
  writeMs: indexer.writeMs,
  processorMs: (user + system) / 1000,
  peakMemoryMb: process.resourceUsage().maxRSS / 1024,
};
console.log(`done ${JSON.stringify(report)}`);
