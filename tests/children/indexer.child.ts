/**
 * Indexes a run until it is told to stop, writing each tick to a table without any key (coordinated), or
 * to one with a key (uncoordinated). Arguments: storage folder, mode. DATABASE_URL says where the tables
 * are; the topic is there too, or where NATS_URL says.
 */
import { BatchInfoSchema, type TickData } from "../../src/contracts/index.ts";
import { createBatchCoordinator } from "../../src/coordination/index.ts";
import { Database } from "../../src/database/index.ts";
import { BatchIndexer, type ComponentType, type FlushContext } from "../../src/pipeline/index.ts";
import { configureLogging } from "../../src/runtime/index.ts";
import { FileSystemStorage } from "../../src/storage/index.ts";
import { NatsTopics, PostgresTopics } from "../../src/topics/index.ts";
import { runId } from "../kit/pipeline.ts";

const [rootDirectory = "", mode = "coordinated"] = process.argv.slice(2);
configureLogging({ level: "error" });

class KeylessIndexer extends BatchIndexer {
  protected override getRequiredComponents() {
    return new Set<ComponentType>(["METADATA", "COORDINATION", "GAP_DETECTION", "BUFFERING"]);
  }

  protected override async flushTicks(ticks: readonly TickData[], { tx }: FlushContext) {
    const rows = ticks.map(({ tickNumber }) => Buffer.from(`${tickNumber}\n`));
    await tx.copyIn("COPY sim.seen (tick) FROM STDIN", rows);
  }
}

class UpsertingIndexer extends BatchIndexer {
  protected override async flushTicks(ticks: readonly TickData[], { tx }: FlushContext) {
    await tx.query("INSERT INTO sim.upserted SELECT unnest($1::bigint[]) ON CONFLICT DO NOTHING", [
      ticks.map(({ tickNumber }) => tickNumber),
    ]);
  }
}

const database = await Database.connect({ url: process.env.DATABASE_URL ?? "" });
const servers = process.env.NATS_URL;
const topics = servers ? await NatsTopics.connect({ servers }) : new PostgresTopics(database);
const Kind = mode === "coordinated" ? KeylessIndexer : UpsertingIndexer;
const topic = await topics.reader(BatchInfoSchema, {
  topic: "batch-topic",
  group: mode,
  claimTimeoutMs: 2_000,
});
const storage = new FileSystemStorage({ rootDirectory });
const coordinator = createBatchCoordinator(database, { leaseMs: 1_000 });
const indexer = new Kind(
  mode,
  { storage, database, topic, coordinator },
  { runId, insertBatchSize: 30, flushTimeoutMs: 50, pollIntervalMs: 100, sweepIntervalMs: 500 },
);
await indexer.start();
process.stdout.write("ready\n");
process.once("SIGTERM", () => void indexer.stop().then(() => process.exit(0)));
