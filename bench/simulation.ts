/*
 * The simulated world: sampled ticks per minute on one core, and the memory that a tick takes in a queue.
 *
 *   node --import tsx --expose-gc bench/simulation.ts [--ticks 20000] [--side 64] [--seed 1]
 *
 * Times are by the clock and by the processor time of this process (which a busy machine does not change).
 */
import { parseArgs } from "node:util";
import { toBinary } from "@bufbuild/protobuf";
import { type TickData, TickDataSchema } from "../src/contracts/index.ts";
import { createWorld, forgetDeaths, sample, step, TickQueue } from "../src/pipeline/index.ts";

const { values } = parseArgs({
  options: {
    ticks: { type: "string", default: "20000" },
    side: { type: "string", default: "64" },
    seed: { type: "string", default: "1" },
  },
});
const ticks = Number(values.ticks);
const side = Number(values.side);
const config = { width: side, height: side, seed: Number(values.seed) };

function perMinute(work: () => void): { readonly clock: number; readonly processor: number } {
  const [startedMs, before] = [performance.now(), process.cpuUsage()];
  work();
  const cpu = process.cpuUsage(before);
  const rate = (ms: number) => Math.round((ticks / ms) * 60_000);
  return { clock: rate(performance.now() - startedMs), processor: rate((cpu.user + cpu.system) / 1_000) };
}

function simulate(each: (tick: TickData) => void, isSampled = true): void {
  const world = createWorld(config);
  while (world.tick < ticks) {
    step(world);
    if (isSampled) each(sample(world));
    forgetDeaths(world);
  }
}

let [cells, organisms, bytes] = [0, 0, 0];
const rows = {
  "step only": perMinute(() => simulate(() => {}, false)),
  "step and sample": perMinute(() =>
    simulate((tick) => {
      cells += tick.cells.length;
      organisms += tick.organisms.length;
    }),
  ),
  "step, sample and encode": perMinute(() =>
    simulate((tick) => {
      bytes += toBinary(TickDataSchema, tick).length;
    }),
  ),
};
console.log(`| ${side} × ${side}, ${ticks} ticks | per minute, by the clock | by processor time |`);
console.log("| --- | --- | --- |");
for (const [what, { clock, processor }] of Object.entries(rows))
  console.log(`| ${what} | ${clock.toLocaleString("en-US")} | ${processor.toLocaleString("en-US")} |`);
const mean = (sum: number) => (sum / ticks).toFixed(0);
console.log(`\nA tick: ${mean(cells)} cells, ${mean(organisms)} organisms, ${mean(bytes)} bytes encoded`);

/** What ticks really take in memory, beside what the queue believes. */
async function memory(): Promise<void> {
  const { gc } = globalThis as { gc?: () => void };
  if (!gc) return console.log("Run with --expose-gc to measure memory.");
  const queue = new TickQueue({ bytesMax: 2 ** 40, recordsMax: 500 });
  const world = createWorld(config);
  gc();
  const beforeBytes = process.memoryUsage().heapUsed;
  for (let tick = 0; tick < 500; tick++) {
    step(world);
    await queue.offer(sample(world));
    forgetDeaths(world);
  }
  gc();
  const heapBytes = process.memoryUsage().heapUsed - beforeBytes;
  console.log(
    `500 ticks in a queue: ${heapBytes} bytes of heap, ${queue.bytes} estimated (${(queue.bytes / heapBytes).toFixed(2)})`,
  );
}
await memory();
