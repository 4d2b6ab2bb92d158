import { drainOne, fillBacklog, fillHistory } from "../commands/load.ts";
import type { Contender, Context, Scenario } from "../harness/scenario.ts";

interface Size {
  readonly drained: number;
  /** Commands that lie around: they wait behind, or are done. */
  readonly few: number;
  readonly many: number;
}

const settings = "one process, one worker";
/** A cost that is a fifth higher. */
const ratio = Number((1 / 1.2).toFixed(2));

function beside(fill: (context: Context<Size>) => Promise<void>): Contender<Size>["run"] {
  return async (context) => {
    await fill(context);
    return context.measure(() => drainOne(context.database, context.size.drained));
  };
}

export const growthBacklog: Scenario<Size> = {
  name: "growth-backlog",
  what: "A batch is sent and drained while many others wait behind it, beside the same with few that wait.",
  sizes: {
    quick: { drained: 50_000, few: 10_000, many: 100_000 },
    full: { drained: 100_000, few: 10_000, many: 1_000_000 },
  },
  warmUp: { drained: 5_000, few: 0, many: 0 },
  figures: { perSecond: "commands/s" },
  goals: [{ against: "few waiting", ratio, needsFullSize: true }],
  contenders: [
    {
      name: "many waiting",
      kind: "ours",
      settings,
      run: beside(({ database, size }) => fillBacklog(database, size.many)),
    },
    {
      name: "few waiting",
      kind: "limit",
      settings,
      run: beside(({ database, size }) => fillBacklog(database, size.few)),
    },
  ],
};

export const growthHistory: Scenario<Size> = {
  name: "growth-history",
  what: "A batch is sent and drained beside many finished commands with their audit, and on empty tables.",
  sizes: {
    quick: { drained: 50_000, few: 0, many: 500_000 },
    full: { drained: 100_000, few: 0, many: 5_000_000 },
  },
  warmUp: { drained: 5_000, few: 0, many: 0 },
  figures: { perSecond: "commands/s" },
  goals: [{ against: "empty tables", ratio, needsFullSize: true }],
  contenders: [
    {
      name: "many finished",
      kind: "ours",
      settings,
      run: beside(async ({ database, size }) => {
        await fillHistory(database, size.many);
        await database.query("VACUUM tallyman.command_bus_command"); // as autovacuum does when its turn comes
      }),
    },
    {
      name: "empty tables",
      kind: "limit",
      settings,
      run: beside(({ database, size }) => fillHistory(database, size.few)),
    },
  ],
};
