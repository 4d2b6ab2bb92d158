import { Command } from "commander";
import type { Api, Caller } from "../client/index.ts";
import { exitCodes, isTallymanError } from "../errors/index.ts";
import { withCaller } from "./open.ts";
import { alignColumns, type GlobalOptions, printResult } from "./output.ts";

/** `tallyman leader`: who leads, and who stands by. Exit code 1 when nobody leads. */
export function leaderCommand(): Command {
  return new Command("leader")
    .description("show the coordinator that leads and those that stand by; exit code 1 when nobody leads")
    .addHelpText("after", "\nExample:\n  $ tallyman leader --json | jq -r .leader.coordinatorId")
    .action(async (_options: GlobalOptions, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const [leader, coordinators] = await withCaller(options, (caller) =>
        Promise.all([findLeader(caller), caller.call("GET /api/coordinators")]),
      );
      printResult(options, { leader, coordinators }, describe(leader, coordinators));
      if (!leader) process.exitCode = exitCodes.error;
    });
}

type Leader = Api["GET /api/coordinator/leader"]["data"];

async function findLeader(caller: Caller): Promise<Leader | null> {
  return caller.call("GET /api/coordinator/leader").catch((error: unknown) => {
    if (isTallymanError(error, "SCHEDULER_NO_LEADER")) return null;
    throw error;
  });
}

function describe(leader: Leader | null, coordinators: Api["GET /api/coordinators"]["data"]): string {
  const head = leader
    ? `${leader.coordinatorId} leads in term ${leader.epoch}, since ${leader.electedAt}.`
    : "Nobody leads. Start a coordinator with 'tallyman coordinator'.";
  if (coordinators.length === 0) return head;
  const rows = coordinators.map(({ coordinatorId, host, port, status, isLeader, lastHeartbeatTime }) => [
    coordinatorId,
    `${host}:${port}`,
    isLeader ? "LEADER" : status,
    lastHeartbeatTime,
  ]);
  return `${head}\n\n${alignColumns([["coordinator", "address", "status", "last heartbeat"], ...rows])}`;
}
