import { Command } from "commander";
import { exitCodes } from "../errors/index.ts";
import type { CoordinatorInfo, LeaderInfo } from "../scheduler/index.ts";
import { withTallyman } from "./open.ts";
import { alignColumns, type GlobalOptions, printResult } from "./output.ts";

/** `tallyman leader`: who leads, and who stands by. Exit code 1 when nobody leads. */
export function leaderCommand(): Command {
  return new Command("leader")
    .description("show the coordinator that leads and those that stand by; exit code 1 when nobody leads")
    .addHelpText("after", "\nExample:\n  $ tallyman leader --json | jq -r .leader.coordinatorId")
    .action(async (_options: GlobalOptions, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const [leader, coordinators] = await withTallyman(options, ({ scheduler }) =>
        Promise.all([scheduler.coordinators.findLeader(), scheduler.coordinators.list()]),
      );
      printResult(options, { leader: leader ?? null, coordinators }, describe(leader, coordinators));
      if (!leader) process.exitCode = exitCodes.error;
    });
}

function describe(leader: LeaderInfo | undefined, coordinators: readonly CoordinatorInfo[]): string {
  const head = leader
    ? `${leader.coordinatorId} leads in term ${leader.epoch}, since ${leader.electedAt.toISOString()}.`
    : "Nobody leads. Start a coordinator with 'tallyman coordinator'.";
  if (coordinators.length === 0) return head;
  const rows = coordinators.map(({ coordinatorId, host, port, status, isLeader, lastHeartbeatTime }) => [
    coordinatorId,
    `${host}:${port}`,
    isLeader ? "LEADER" : status,
    lastHeartbeatTime.toISOString(),
  ]);
  return `${head}\n\n${alignColumns([["coordinator", "address", "status", "last heartbeat"], ...rows])}`;
}
