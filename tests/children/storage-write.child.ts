/**
 * Writes batches of ten ticks into the folder of argv[2], beginning at tick argv[3], argv[4] of them (default:
 * until it is killed), argv[5] bytes of records each. Prints "wrote <first tick> <key>" after each, or
 * "failed <code>".
 */
import { TallymanError } from "../../src/errors/index.ts";
import { FileSystemStorage } from "../../src/storage/index.ts";

const [rootDirectory = "", first = "0", batches = "Infinity", bytes = "20000"] = process.argv.slice(2);
const storage = new FileSystemStorage({ rootDirectory, codec: "none" });

for (let batch = 0; batch < Number(batches); batch++) {
  const tick = Number(first) + batch * 10;
  const records = Array.from({ length: 10 }, (_, index) =>
    Buffer.alloc(Number(bytes) / 10, `tick ${tick + index} `),
  );
  try {
    const { key } = await storage.writeBatch("run-1", tick, tick + 9, records);
    process.stdout.write(`wrote ${tick} ${key}\n`);
  } catch (error) {
    process.stdout.write(`failed ${error instanceof TallymanError ? error.code : String(error)}\n`);
  }
}
