import { CommandBus } from "../../src/commands/index.ts";
import { commands, concurrency, domain, drainBatches } from "../commands/load.ts";
import type { Contender, Scenario } from "../harness/scenario.ts";

interface Size {
  readonly commands: number;
}

const workers = 8;
const settings = `one process, ${workers} workers, ${concurrency} handlers at a time each`;

/** The same commands, in batches of so many. */
function inBatchesOf(batchSize: (size: Size) => number): Contender<Size>["run"] {
  return async ({ database, size, measure }) => {
    await using bus = new CommandBus(database);
    const batchIds: string[] = [];
    for (let sent = 0; sent < size.commands; sent += batchSize(size))
      batchIds.push(await bus.createBatch(domain, commands(batchSize(size))));
    return await measure(async () => {
      await drainBatches(bus, batchIds, workers);
      return size.commands;
    });
  };
}

export const hotBatch: Scenario<Size> = {
  name: "hot-batch",
  what: "Eight workers drain one batch, whose counters all of them move, beside as many commands in many batches.",
  sizes: { quick: { commands: 100_000 }, full: { commands: 1_000_000 } },
  warmUp: { commands: 5_000 },
  figures: { perSecond: "commands/s" },
  goals: [{ against: "many batches", ratio: 0.9, needsFullSize: true }],
  contenders: [
    { name: "one batch", kind: "ours", settings, run: inBatchesOf((size) => size.commands) },
    {
      name: "many batches",
      kind: "limit",
      settings: `${settings}; batches of 100`,
      run: inBatchesOf(() => 100),
    },
  ],
};
