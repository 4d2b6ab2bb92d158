import { CommandBus } from "../../src/commands/index.ts";
import { commands, domain } from "../commands/load.ts";
import type { Contender, Scenario } from "../harness/scenario.ts";
import { graphileClient, graphileContender, graphileJobs } from "../peers/graphile-worker.ts";
import { pgBoss, pgBossContender } from "../peers/pg-boss.ts";

interface Size {
  readonly commands: number;
}

const ours: Contender<Size> = {
  name: "Tallyman",
  kind: "ours",
  settings: "one createBatch in one transaction, foreign key and audit on",
  async run({ database, size, measure }) {
    await using bus = new CommandBus(database);
    const list = commands(size.commands);
    return await measure(async () => {
      await bus.createBatch(domain, list);
      return size.commands;
    });
  },
};

const graphile: Contender<Size> = {
  ...graphileContender("tuned"),
  name: "graphile-worker bulk add",
  settings: "all jobs in one addJobs",
  async run({ url, size, measure }) {
    await using client = await graphileClient(url);
    const jobs = graphileJobs(size.commands);
    return await measure(async () => {
      await client.addJobs(jobs);
      return size.commands;
    });
  },
};

const boss: Contender<Size> = {
  ...pgBossContender("bulk insert", "all jobs in one insert"),
  async run({ url, size, measure }) {
    await using client = await pgBoss(url);
    return await measure(async () => {
      await client.insert(size.commands);
      return size.commands;
    });
  },
};

const columns = "id, command_id, batch_id, correlation_id, domain, command_type, data";

const copy: Contender<Size> = {
  name: "COPY",
  kind: "limit",
  settings:
    "the same rows, as text, into the same table with its key, foreign key and indexes; no audit, no queue",
  async run({ database, size, measure }) {
    await using bus = new CommandBus(database);
    const batchId = await bus.createBatch(domain, commands(size.commands));
    const { rows } = await database.query<{ line: string }>(
      `SELECT concat_ws(E'\\t', ${columns}) AS line FROM tallyman.command_bus_command WHERE batch_id = $1 ORDER BY id`,
      [batchId],
    );
    const text = Buffer.from(rows.map(({ line }) => `${line}\n`).join(""));
    await database.query("TRUNCATE tallyman.command_bus_command");
    return await measure(async () => {
      await database.transaction((tx) =>
        tx.copyIn(`COPY tallyman.command_bus_command (${columns}) FROM STDIN`, [text]),
      );
      return size.commands;
    });
  },
};

export const enqueue: Scenario<Size> = {
  name: "enqueue",
  what: "Commands or jobs put into the queue in one go, each with some 220 bytes.",
  sizes: { quick: { commands: 100_000 }, full: { commands: 100_000 } },
  warmUp: { commands: 10_000 },
  figures: { perSecond: "commands/s" },
  goals: [
    {
      against: "graphile-worker bulk add",
      ratio: 3,
      whyMissed:
        "COPY of our rows with their keys, without any of our code, does not reach it either ([005](decisions/005-command-bus-storage.md))",
    },
    { against: "COPY", ratio: 0.6 },
  ],
  contenders: [ours, graphile, boss, copy],
};
