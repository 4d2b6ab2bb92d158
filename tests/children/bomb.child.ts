/**
 * Reads the batch files of run-1 in the folder of argv[2] as an indexer does. Prints "outcome <ticks> <code>" for
 * each, and "peak N" with the megabytes of memory by which the process grew meanwhile.
 */
import { readTicks } from "../../src/pipeline/index.ts";
import { FileSystemStorage } from "../../src/storage/index.ts";

const storage = new FileSystemStorage({ rootDirectory: process.argv[2] ?? "" });

async function read(key: string): Promise<string> {
  try {
    await using batch = await storage.openBatch(key);
    let ticks = 0;
    for await (const _ of readTicks(batch)) ticks++;
    return `${ticks} ticks`;
  } catch (error) {
    return String((error as { code?: unknown }).code ?? error);
  }
}

const peakKb = () => process.resourceUsage().maxRSS;
const beforeKb = peakKb();
const { files } = await storage.listBatchFiles("run-1", undefined, 100);
for (const { key, tickStart } of files) process.stdout.write(`outcome ${tickStart} ${await read(key)}\n`);
process.stdout.write(`peak ${Math.round((peakKb() - beforeKb) / 1024)}\n`);
