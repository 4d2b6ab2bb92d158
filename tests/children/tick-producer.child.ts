/**
 * Writes its share of a run's batch files and announces each, beginning anew after a kill: what is there
 * already stays as it is. Arguments: storage folder, first file, files, ticks per file.
 */
import { BatchInfoSchema, TickDataSchema } from "../../src/contracts/index.ts";
import { Database } from "../../src/database/index.ts";
import { FileSystemStorage } from "../../src/storage/index.ts";
import { NatsTopics, PostgresTopics } from "../../src/topics/index.ts";
import { announcement, runId, ticksFrom } from "../kit/pipeline.ts";

const [rootDirectory = "", first = "0", files = "0", ticks = "0"] = process.argv.slice(2);
const database = await Database.connect({ url: process.env.DATABASE_URL ?? "" });
const servers = process.env.NATS_URL;
const topics = servers ? await NatsTopics.connect({ servers }) : new PostgresTopics(database);
const topic = await topics.writer(BatchInfoSchema, { topic: "batch-topic", runId });
const storage = new FileSystemStorage({ rootDirectory });

for (let file = Number(first); file < Number(first) + Number(files); file++) {
  const start = file * Number(ticks);
  const records = ticksFrom(start, Number(ticks));
  const schema = { schema: TickDataSchema };
  const written = await storage.writeBatch(runId, start, start + Number(ticks) - 1, records, schema);
  // Every ninth announcement is lost: the file is there, and nobody says so.
  if (file % 9 !== 8) await topic.send(announcement(written), { key: written.key });
}
process.stdout.write("done\n");
process.exit(0);
