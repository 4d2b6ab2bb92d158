/*
 * A job that sends a batch every second, three times: each fire exactly once, whatever happens to its workers.
 *
 *   node --import tsx examples/08-scheduled-batches.ts
 */
import { configureLogging, Tallyman } from "../src/index.ts";

configureLogging({ level: "warn" });
await using tallyman = await Tallyman.embedded();
const { commands: bus, scheduler } = tallyman;
const domain = "reports";

const batches = new Set<string | null>();
let done = 0;
await using worker = bus.worker({
  domain,
  handlers: {
    Render: ({ batchId }) => {
      batches.add(batchId);
      done++;
    },
  },
});
await worker.start();

// One coordinator hands out the segments of the job store, one scheduler worker fires what is due in them.
await using coordinator = scheduler.coordinator({ coordinatorId: "example", port: 8082, joinDelayMs: 0 });
await using firing = scheduler.worker({ heartbeatIntervalMs: 200 });
await coordinator.start();
await firing.start();

await scheduler.jobs.remove("reports").catch(() => undefined);
await scheduler.jobs.create("reports", {
  schedule: { everyMs: 1_000 },
  batch: {
    domain,
    name: "Report",
    commands: [1, 2].map((part) => ({ commandType: "Render", data: { part } })),
  },
  maxFires: 3,
});
while (done < 6) await new Promise((resolve) => setTimeout(resolve, 20));
const fires = await scheduler.jobs.history("reports");
console.log(`${fires.length} fires, ${batches.size} batches, ${done} commands`);
