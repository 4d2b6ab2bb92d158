import { Command } from "commander";
import type { Api } from "../client/index.ts";
import { type AuditedOptions, audited } from "./audited.ts";
import { withCaller } from "./open.ts";
import { alignColumns, type GlobalOptions, printResult } from "./output.ts";

interface Options extends GlobalOptions {
  readonly all?: boolean;
}

/** `tallyman workers`: the fleet of scheduler workers. */
export function workersCommand(): Command {
  return new Command("workers")
    .description("list the scheduler workers, or ask one to drain")
    .option("--all", "those that are OFFLINE too")
    .addHelpText(
      "after",
      "\nExamples:\n  $ tallyman workers\n  $ tallyman workers drain worker-1     its segments go to others, and it gets no more",
    )
    .addCommand(audited(drainCommand()))
    .action(async (_options: Options, command: Command) => {
      const options = command.optsWithGlobals<Options>();
      const query = { all: options.all ?? false };
      const workers = await withCaller(options, (caller) =>
        caller.call("GET /api/scheduler-workers", { query }),
      );
      printResult(options, { workers }, describeWorkers(workers));
    });
}

function drainCommand(): Command {
  return new Command("drain")
    .description("ask a worker to give back all its segments, until it registers again")
    .argument("<workerId>", "the worker")
    .addHelpText("after", "\nExample:\n  $ tallyman workers drain worker-1")
    .action(async (workerId: string, _options: AuditedOptions, command: Command) => {
      const options = command.optsWithGlobals<AuditedOptions>();
      const worker = await withCaller(options, (caller) =>
        caller.call("POST /api/scheduler-workers/drain", { query: { workerId } }),
      );
      printResult(
        options,
        { worker },
        `${workerId} is ${worker.status}; it still holds ${worker.assignedSegments.length} segments.`,
      );
    });
}

function describeWorkers(workers: Api["GET /api/scheduler-workers"]["data"]): string {
  if (workers.length === 0) return "No scheduler worker is registered.";
  const rows = workers.map(({ workerId, status, assignedSegments, cap, lastHeartbeatTime }) => [
    workerId,
    status,
    `${assignedSegments.length}`,
    cap === null ? "none" : `${cap}`,
    lastHeartbeatTime,
  ]);
  return alignColumns([["worker", "status", "segments", "cap", "last heartbeat"], ...rows]);
}
