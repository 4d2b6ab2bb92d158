/*
 * Ingests sensor readings through batch files: a BatchWriter writes and announces them, a consumer reads what was
 * announced and stores each file and its acknowledgement in one transaction.
 *
 *   node --import tsx examples/05-sensor-ingest.ts
 *
 * Needs nothing: it runs on the embedded PostgreSQL, in .tallyman of the working directory.
 */
import {
  BatchInfoSchema,
  BatchWriter,
  configureLogging,
  FileSystemStorage,
  newRunId,
  Tallyman,
} from "../src/index.ts";

interface Reading {
  readonly sequence: number;
  readonly sensor: string;
  readonly celsius: number;
}

const readingCount = 2_500;
const topic = "sensor-batches";

function* readings(): Generator<Reading> {
  for (let sequence = 0; sequence < readingCount; sequence++) {
    const celsius = 20 + Math.round(50 * Math.sin(sequence / 100)) / 10;
    yield { sequence, sensor: `sensor-${sequence % 7}`, celsius };
  }
}

configureLogging({ level: "warn" });
await using tallyman = await Tallyman.embedded();
const storage = new FileSystemStorage({ rootDirectory: ".tallyman/sensor-storage" });
const runId = newRunId();

// The producer: write() waits while the storage is slow, close() ends when everything is written and announced.
await using writer = new BatchWriter<Reading>(
  "sensor-writer",
  { storage, topic: await tallyman.topics.writer(BatchInfoSchema, { topic }) },
  { runId, sequenceOf: ({ sequence }) => sequence, maxBatchSize: 1_000 },
);
await writer.start();
for (const reading of readings()) await writer.write(reading);
await writer.close();

// The consumer: rows and acknowledgement commit together, so that a crash in between repeats the file, not the rows.
await tallyman.database.query(
  "CREATE TABLE IF NOT EXISTS sensor_reading (run_id text, sequence int8, sensor text, celsius float8, PRIMARY KEY (run_id, sequence))",
);
const reader = await tallyman.topics.reader(BatchInfoSchema, { topic, group: "sensor-table", runId });
let files = 0;
for (let message = await reader.poll(0); message; message = await reader.poll(0)) {
  const delivery = message;
  await using batch = await storage.openBatch(delivery.payload.storageKey);
  const rows: Reading[] = [];
  for await (const { bytes } of batch.records())
    rows.push(JSON.parse(Buffer.from(bytes).toString()) as Reading);
  await tallyman.database.transaction(async (tx) => {
    await tx.query(
      "INSERT INTO sensor_reading SELECT $1, r.* FROM jsonb_to_recordset($2::jsonb) AS r (sequence int8, sensor text, celsius float8)",
      [runId, JSON.stringify(rows)],
    );
    await reader.ack(delivery, { tx });
  });
  files++;
}
const { rows } = await tallyman.database.query<{ count: number }>(
  "SELECT count(*) AS count FROM sensor_reading WHERE run_id = $1",
  [runId],
);
console.log(`${rows[0]?.count} of ${readingCount} readings stored, from ${files} files`);
