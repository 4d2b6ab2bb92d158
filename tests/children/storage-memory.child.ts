/**
 * Writes one batch file of argv[3] megabytes into the folder of argv[2] and reads it back, both by
 * streaming; prints "peak N" with the megabytes of memory by which the process grew meanwhile.
 */
import { createHash, randomFillSync } from "node:crypto";
import { FileSystemStorage } from "../../src/storage/index.ts";

const [rootDirectory = "", megabytes = "64"] = process.argv.slice(2);
const recordBytes = 64 * 1024;

const storage = new FileSystemStorage({ rootDirectory });
const written = createHash("sha256");
const read = createHash("sha256");
const record = Buffer.alloc(recordBytes);

/** Not compressible, so the stored file is as large as the records; one buffer, so it costs no memory. */
function* records(bytes: number): Generator<Buffer> {
  for (let made = 0; made < bytes; made += recordBytes) yield randomFillSync(record);
}

function* hashed(source: Iterable<Buffer>): Generator<Buffer> {
  for (const bytes of source) {
    written.update(bytes);
    yield bytes;
  }
}

// What every process needs once (compiled code, thread pool, buffers) is not the file's.
const warm = await storage.writeBatch("warm-up", 0, 0, records(16e6));
await using warmBatch = await storage.openBatch(warm.key);
for await (const _ of warmBatch.records());

const peakKb = () => process.resourceUsage().maxRSS;
const beforeKb = peakKb();
const file = await storage.writeBatch("run-1", 0, 999, hashed(records(Number(megabytes) * 1e6)));
const afterWriteKb = peakKb();
await using batch = await storage.openBatch(file.key);
for await (const { bytes } of batch.records()) read.update(bytes);
if (written.digest("hex") !== read.digest("hex")) throw new Error("What was read is not what was written.");
process.stdout.write(`stored ${file.bytes}\n`);
process.stdout.write(
  `peak ${Math.round((peakKb() - beforeKb) / 1024)} after writing ${Math.round((afterWriteKb - beforeKb) / 1024)}\n`,
);
