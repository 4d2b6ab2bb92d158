/**
 * Produces a run: an engine and two competing persistence services on the storage of argv[3], announced in the
 * database of argv[2]; argv[4] is the number of ticks. Prints "finished" when every tick is in a file.
 */
import { BatchInfoSchema } from "../../src/contracts/index.ts";
import { Database } from "../../src/database/index.ts";
import {
  MetadataPersistenceService,
  MetadataQueue,
  PersistenceService,
  SimulationEngine,
  TickQueue,
} from "../../src/pipeline/index.ts";
import { configureLogging } from "../../src/runtime/index.ts";
import { FileSystemStorage } from "../../src/storage/index.ts";
import { PostgresTopics } from "../../src/topics/index.ts";

configureLogging({ level: "error" });
const [url = "", rootDirectory = "", maxTicks = "1000"] = process.argv.slice(2);
await using database = await Database.connect({ url });
await using topics = new PostgresTopics(database);
const topic = await topics.writer(BatchInfoSchema, { topic: "batch-topic" });
const storage = new FileSystemStorage({ rootDirectory });
const [queue, metadataQueue] = [new TickQueue({ recordsMax: 60 }), new MetadataQueue()];
const services = [
  new MetadataPersistenceService("metadata", { queue: metadataQueue, storage }),
  ...[1, 2].map(
    (number) =>
      new PersistenceService(`persistence-${number}`, { queue, storage, topic }, { maxBatchSize: 20 }),
  ),
];
for (const service of services) await service.start();
const engine = new SimulationEngine(
  "engine",
  { queue, metadataQueue, storage },
  {
    runId: "run-1",
    worldWidth: 16,
    worldHeight: 16,
    seed: 3,
    samplingInterval: 5,
    maxTicks: Number(maxTicks),
  },
);
const ended = new Promise<void>((resolve) => {
  engine.onStateChange((state) => state !== "RUNNING" && resolve());
});
await engine.start();
await ended;
queue.close();
await queue.whenEmpty();
await Promise.all(services.map((service) => service.stop()));
process.stdout.write("finished\n");
