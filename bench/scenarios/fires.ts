import { pgbenchMissing, runPgbench } from "../harness/pgbench.ts";
import type { Contender, Scenario } from "../harness/scenario.ts";
import {
  assignSegments,
  fireScript,
  firesPerStatement,
  firesSoFar,
  seedJobs,
  workers,
} from "../jobs/seed.ts";
import { firesWithin, startSchedulerWorkers } from "../jobs/workers.ts";

interface Size {
  readonly jobs: number;
  readonly seconds: number;
}

const ours: Contender<Size> = {
  name: "Tallyman",
  kind: "ours",
  settings: `one process, ${workers.length} scheduler workers, up to ${firesPerStatement} fires per statement`,
  async run({ database, size, measure }) {
    await seedJobs(database, { count: size.jobs, kind: "interval", due: "now" });
    await using _started = await startSchedulerWorkers(database);
    return await measure(() => firesWithin(database, size.seconds));
  },
};

const limit: Contender<Size> = {
  name: "pgbench",
  kind: "limit",
  settings: `our own look for due jobs and our own function that fires them, ${workers.length} clients`,
  missing: pgbenchMissing,
  async run({ database, url, size, measure }) {
    await seedJobs(database, { count: size.jobs, kind: "interval", due: "now" });
    await assignSegments(database);
    return measure(async () => {
      const { seconds } = await runPgbench({
        url,
        script: fireScript(),
        clients: workers.length,
        seconds: size.seconds,
      });
      return { items: await firesSoFar(database), seconds };
    });
  },
};

export const fires: Scenario<Size> = {
  name: "fires",
  what: "Interval jobs that are all due, each fired as a command with some 150 bytes.",
  sizes: { quick: { jobs: 300_000, seconds: 4 }, full: { jobs: 1_000_000, seconds: 15 } },
  warmUp: { jobs: 20_000, seconds: 1 },
  figures: { perSecond: "fires/s" },
  goals: [
    { figure: "perSecond", atLeast: 20_000, needsFullSize: true },
    { against: "pgbench", ratio: 0.6, needsFullSize: true },
  ],
  contenders: [ours, limit],
};
