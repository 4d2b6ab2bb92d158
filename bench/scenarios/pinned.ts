import { Database } from "../../src/database/index.ts";
import { sleep } from "../../src/runtime/index.ts";
import { drainOne } from "../commands/load.ts";
import type { Contender, Scenario } from "../harness/scenario.ts";

interface Size {
  /** How long the other transaction stays. */
  readonly seconds: number;
  /** Between two drains in this time. */
  readonly pauseMs: number;
  readonly drained: number;
  /** Drains that are measured, at the end. */
  readonly measuredDrains: number;
}

async function drainSeveral(database: Database, { drained, measuredDrains }: Size): Promise<number> {
  for (let n = 0; n < measuredDrains; n++) await drainOne(database, drained);
  return drained * measuredDrains;
}

const ours: Contender<Size> = {
  name: "pinned",
  kind: "ours",
  settings:
    "one process, one worker; another transaction keeps every dead row alive, and drains go on in this time",
  async run({ database, url, size, measure }) {
    await using other = await Database.connect({ url, listenUrl: null });
    return await other.transaction(async (tx) => {
      await tx.query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
      await tx.query("SELECT FROM tallyman.command_bus_queue");
      const untilMs = performance.now() + size.seconds * 1_000;
      while (performance.now() < untilMs) {
        await drainOne(database, size.drained);
        await sleep(size.pauseMs);
      }
      return measure(() => drainSeveral(database, size));
    });
  },
};

const normal: Contender<Size> = {
  name: "not pinned",
  kind: "limit",
  settings: "one process, one worker; empty tables",
  run: ({ database, size, measure }) => measure(() => drainSeveral(database, size)),
};

export const pinned: Scenario<Size> = {
  name: "pinned",
  what: "Batches are sent and drained at the end of a long idle transaction, beside the same without one.",
  sizes: {
    quick: { seconds: 60, pauseMs: 0, drained: 20_000, measuredDrains: 5 },
    full: { seconds: 1_800, pauseMs: 5_000, drained: 20_000, measuredDrains: 5 },
  },
  warmUp: { seconds: 0, pauseMs: 0, drained: 5_000, measuredDrains: 1 },
  figures: { perSecond: "commands/s" },
  goals: [{ against: "not pinned", ratio: 0.7, needsFullSize: true }],
  runsMax: 1,
  contenders: [ours, normal],
};
