/**
 * An engine in front of a consumer that takes nothing before the engine has to wait for it, argv[2] ticks long,
 * with a queue of argv[3] megabytes. Prints "produced N" (bytes that went through the queue) and "peak N"
 * (megabytes by which the process grew).
 */
import { createWorld, SimulationEngine, sample, step, TickQueue } from "../../src/pipeline/index.ts";
import { configureLogging, sleep } from "../../src/runtime/index.ts";

configureLogging({ level: "error" });
const [maxTicks = "3000", megabytes = "16"] = process.argv.slice(2);

// What every process needs once is not the queue's.
const warm = createWorld();
for (let tick = 0; tick < 300; tick++) {
  step(warm);
  sample(warm);
}
const peakKb = () => process.resourceUsage().maxRSS;
const beforeKb = peakKb();

const queue = new TickQueue({ bytesMax: Number(megabytes) * 1024 * 1024, recordsMax: 1_000_000 });
const engine = new SimulationEngine("engine", { queue }, { maxTicks: Number(maxTicks) });
await engine.start();
let [taken, produced] = [0, 0];
const waits = () => queue.getMetrics().queue_blocked_offers ?? 0;
while (taken < Number(maxTicks)) {
  for (const before = waits(); waits() === before && !engine.isFinished; ) await sleep(1);
  using batch = await queue.take({ recordsMax: 50, batchTimeoutMs: 0, waitMs: 0 });
  if (!batch) continue;
  const before = queue.bytes;
  taken += batch.records.length;
  batch.settle(batch.records);
  produced += before - queue.bytes;
}
await engine.stop();
process.stdout.write(`taken ${taken} in ${waits()} waits\n`);
process.stdout.write(`produced ${produced}\n`);
process.stdout.write(`peak ${Math.round((peakKb() - beforeKb) / 1024)}\n`);
