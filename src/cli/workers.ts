import { Command } from "commander";
import type { WorkerInfo } from "../scheduler/index.ts";
import { withTallyman } from "./open.ts";
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
    .addCommand(drainCommand())
    .action(async (_options: Options, command: Command) => {
      const options = command.optsWithGlobals<Options>();
      const all = await withTallyman(options, ({ scheduler }) => scheduler.fleet.listWorkers());
      const workers = all.filter(({ status }) => options.all || status !== "OFFLINE");
      printResult(options, { workers }, describeWorkers(workers));
    });
}

function drainCommand(): Command {
  return new Command("drain")
    .description("ask a worker to give back all its segments, until it registers again")
    .argument("<workerId>", "the worker")
    .action(async (workerId: string, _options: GlobalOptions, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const worker = await withTallyman(options, ({ scheduler }) => scheduler.fleet.drain(workerId));
      printResult(
        options,
        { worker },
        `${workerId} is ${worker.status}; it still holds ${worker.assignedSegments.length} segments.`,
      );
    });
}

function describeWorkers(workers: readonly WorkerInfo[]): string {
  if (workers.length === 0) return "No scheduler worker is registered.";
  const rows = workers.map(({ workerId, status, assignedSegments, cap, lastHeartbeatTime }) => [
    workerId,
    status,
    `${assignedSegments.length}`,
    cap === null ? "none" : `${cap}`,
    lastHeartbeatTime.toISOString(),
  ]);
  return alignColumns([["worker", "status", "segments", "cap", "last heartbeat"], ...rows]);
}
