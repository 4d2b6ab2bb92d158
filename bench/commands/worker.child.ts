/** A worker in a process of its own: drains a batch and says what memory that took. `worker.child.ts <url> <batchId>` */
import { CommandBus } from "../../src/commands/index.ts";
import { Database } from "../../src/database/index.ts";

const [url = "", batchId = ""] = process.argv.slice(2);
await using database = await Database.connect({ url });
await using bus = new CommandBus(database);
await using worker = bus.worker({ domain: "bench", handlers: { T: () => undefined }, concurrency: 24 });
let peakBytes = 0;
const timer = setInterval(() => {
  peakBytes = Math.max(peakBytes, process.memoryUsage.rss());
}, 20);
await worker.start();
await bus.waitForBatch("bench", batchId);
clearInterval(timer);
console.log(JSON.stringify({ peakMegabytes: Math.round(peakBytes / 1e6) }));
