/**
 * Scheduler workers beyond the scenario `fires` of `npm run bench`, four of them in this process:
 *
 *   node --import tsx bench/jobs.ts [--jobs 1000000] [--seconds 15]
 *
 * - cron: fires per second and processor time per fire, of patterns that jobs share, and of a pattern for each job.
 * - idle: nothing is due: processor time of workers and server in percent of a core.
 */
import { parseArgs } from "node:util";
import type { Database } from "../src/database/index.ts";
import { configureLogging, sleep } from "../src/runtime/index.ts";
import { measure } from "./harness/measure.ts";
import { benchSettings, startBenchServer } from "./harness/server.ts";
import { seedJobs } from "./jobs/seed.ts";
import { firesWithin, startSchedulerWorkers } from "./jobs/workers.ts";

const { values: flags } = parseArgs({
  options: { jobs: { type: "string", default: "1000000" }, seconds: { type: "string", default: "15" } },
});
const jobs = Number(flags.jobs);
const seconds = Number(flags.seconds);

async function cronFires(database: Database, kind: "cron-shared" | "cron-distinct") {
  await seedJobs(database, { count: jobs, kind, due: "now" });
  await using _started = await startSchedulerWorkers(database);
  return await measure(database, () => firesWithin(database, seconds));
}

async function idlePercent(database: Database) {
  await seedJobs(database, { count: jobs, kind: "interval", due: "never" });
  await using _started = await startSchedulerWorkers(database);
  await sleep(3_000); // code is compiled, connections are open
  const sample = await measure(database, async () => {
    await sleep(seconds * 1_000);
    return seconds;
  });
  const percent = (micros = Number.NaN) => Number((micros / 1e4).toFixed(2));
  return {
    workersPercent: percent(sample.clientMicrosPerItem),
    serverPercent: percent(sample.serverMicrosPerItem),
  };
}

configureLogging({ level: "warn" });
console.log("settings", JSON.stringify(benchSettings));
const parts = {
  "cron-shared": (database: Database) => cronFires(database, "cron-shared"),
  "cron-distinct": (database: Database) => cronFires(database, "cron-distinct"),
  idle: idlePercent,
};
for (const [name, part] of Object.entries(parts)) {
  await using server = await startBenchServer();
  console.log(name, JSON.stringify(await part(server.database)));
}
