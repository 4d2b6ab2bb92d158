import { CommandBus } from "../../src/commands/index.ts";
import type { Database } from "../../src/database/index.ts";
import { deferred, sleep } from "../../src/runtime/index.ts";
import { commands, concurrency, domain, drainBatches } from "../commands/load.ts";
import { drainScript, groupSize } from "../commands/pgbench.ts";
import { pgbenchMissing, runPgbench } from "../harness/pgbench.ts";
import type { Contender, Scenario } from "../harness/scenario.ts";
import {
  type GraphileSetup,
  graphileClient,
  graphileContender,
  graphileJobs,
  graphileWorker,
} from "../peers/graphile-worker.ts";
import { pgBoss, pgBossContender } from "../peers/pg-boss.ts";

interface Size {
  readonly commands: number;
  /** Of those who would take too long for all. */
  readonly commandsOfDefaults: number;
  /** Of pg-boss's defaults, which take a job every two seconds. */
  readonly secondsOfDefaults: number;
}

const pgbenchClients = 2;
const bossLoops = 4;
const bossBatch = 500;

const ours: Contender<Size> = {
  name: "Tallyman",
  kind: "ours",
  settings: `one process, one worker, ${concurrency} handlers at a time, otherwise the defaults; one batch, audit on`,
  async run({ database, size, measure }) {
    await using bus = new CommandBus(database);
    const batchId = await bus.createBatch(domain, commands(size.commands));
    return await measure(async () => {
      await drainBatches(bus, [batchId]);
      return size.commands;
    });
  },
};

function graphile(setup: GraphileSetup, count: (size: Size) => number): Contender<Size> {
  return {
    ...graphileContender(setup),
    async run({ url, database, size, measure }) {
      const total = count(size);
      await using client = await graphileClient(url);
      await client.addJobs(graphileJobs(total));
      return await measure(async () => {
        const all = deferred();
        let started = 0;
        await using _worker = await graphileWorker(url, setup, () => {
          if (++started === total) all.resolve();
        });
        await all.promise;
        while (await hasGraphileJobs(database)) await sleep(2);
        return total;
      });
    },
  };
}

/** A job is deleted when it is done. */
async function hasGraphileJobs(database: Database): Promise<boolean> {
  const { rows } = await database.query("SELECT FROM graphile_worker._private_jobs LIMIT 1");
  return rows.length > 0;
}

const bossTuned: Contender<Size> = {
  ...pgBossContender(
    "tuned",
    `one process; ${bossLoops} loops of fetch (batchSize ${bossBatch}) and complete, which do not wait between batches as its work() does`,
  ),
  async run({ url, size, measure }) {
    await using client = await pgBoss(url);
    await client.insert(size.commands);
    const loop = async () => {
      for (;;) {
        const jobs = await client.fetch(bossBatch);
        if (jobs.length === 0) return;
        await client.complete(jobs);
      }
    };
    return await measure(async () => {
      await Promise.all(Array.from({ length: bossLoops }, loop));
      return size.commands;
    });
  },
};

const bossDefault: Contender<Size> = {
  ...pgBossContender("default", "one process; work() as it is: one job every two seconds"),
  async run({ url, size, measure }) {
    await using client = await pgBoss(url);
    await client.insert(size.secondsOfDefaults);
    return await measure(async () => {
      let done = 0;
      await client.work({}, async (jobs) => {
        done += jobs.length;
      });
      await sleep(size.secondsOfDefaults * 1_000);
      return done;
    });
  },
};

const limit: Contender<Size> = {
  name: "pgbench",
  kind: "limit",
  settings: `our own functions for claims and outcomes, ${groupSize} commands each, ${pgbenchClients} clients`,
  missing: pgbenchMissing,
  async run({ url, database, size, measure }) {
    await using bus = new CommandBus(database);
    await bus.createBatch(domain, commands(size.commands));
    const timesEach = Math.ceil(size.commands / groupSize / pgbenchClients);
    return await measure(async () => {
      const { seconds } = await runPgbench({ url, script: drainScript, clients: pgbenchClients, timesEach });
      return { items: await completedCommands(database), seconds };
    });
  },
};

async function completedCommands(database: Database): Promise<number> {
  const { rows } = await database.query<{ n: number }>(
    "SELECT count(*)::int AS n FROM tallyman.command_bus_command WHERE status = 'COMPLETED'",
  );
  return rows[0]?.n ?? 0;
}

export const drain: Scenario<Size> = {
  name: "drain",
  what: "Commands or jobs that do nothing, from the worker's start until the last one's end is durable.",
  sizes: {
    quick: { commands: 100_000, commandsOfDefaults: 10_000, secondsOfDefaults: 6 },
    full: { commands: 100_000, commandsOfDefaults: 100_000, secondsOfDefaults: 60 },
  },
  warmUp: { commands: 5_000, commandsOfDefaults: 500, secondsOfDefaults: 1 },
  figures: { perSecond: "commands/s" },
  goals: [
    {
      against: "graphile-worker tuned",
      ratio: 3,
      whyMissed:
        "both cores are busy; by processor time it is less than our statements alone need through pgbench, plus a client ([005](decisions/005-command-bus-storage.md))",
    },
    { against: "graphile-worker default", ratio: 30 },
    { against: "pg-boss tuned", ratio: 4 },
    {
      against: "pgbench",
      ratio: 0.6,
      whyMissed:
        "on two cores a worker's own processor time per command comes beside the server's, which is all that pgbench needs: about 0.65 is the most",
    },
  ],
  contenders: [
    ours,
    graphile("tuned", (size) => size.commands),
    graphile("default", (size) => size.commandsOfDefaults),
    bossTuned,
    bossDefault,
    limit,
  ],
};
