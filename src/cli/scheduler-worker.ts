import { Command } from "commander";
import { runUntilSignal } from "../runtime/index.ts";
import { parseDuration, parseNumber } from "./command-options.ts";
import { interruptSignals } from "./interrupt.ts";
import { openConfig, openTallyman } from "./open.ts";
import { type GlobalOptions, printResult, printStep } from "./output.ts";

interface Options extends GlobalOptions {
  readonly id?: string;
  readonly cap?: string;
  readonly heartbeatInterval: string;
  readonly heartbeatTimeout: string;
}

/** `tallyman scheduler-worker`: fires due jobs until a signal. */
export function schedulerWorkerCommand(): Command {
  return new Command("scheduler-worker")
    .description("fire the due jobs of the segments that the leader gives it, until Ctrl+C")
    .option("--id <name>", "unique id of this worker (default: host, process and a random part)")
    .option("--cap <n>", "segments at most (default: no limit, it takes its share)")
    .option("--heartbeat-interval <duration>", "time between two heartbeats", "1s")
    .option("--heartbeat-timeout <duration>", "silence after which others get its segments", "5s")
    .addHelpText(
      "after",
      "\nIt needs a coordinator, which gives it segments, and command workers, which do what it fires.\n\nExamples:\n  $ tallyman coordinator --port 8082 &\n  $ tallyman scheduler-worker --id scheduler-1\n  $ tallyman job add tick --every 10s --type Tick",
    )
    .action(async (_options: Options, command: Command) => {
      const options = command.optsWithGlobals<Options>();
      const config = await openConfig(options);
      // Not withTallyman: an interruption must not close the database before the segments are given back.
      await using tallyman = await openTallyman(options, config);
      const worker = tallyman.scheduler.worker({
        workerId: options.id,
        cap: options.cap === undefined ? undefined : parseNumber("--cap", options.cap, 0),
        heartbeatIntervalMs: parseDuration("--heartbeat-interval", options.heartbeatInterval),
        heartbeatTimeoutMs: parseDuration("--heartbeat-timeout", options.heartbeatTimeout),
      });
      tallyman.metrics.register("service", "scheduler-worker", worker);
      const { workerId } = worker;
      printStep(options, `Scheduler worker ${workerId} fires due jobs. Ctrl+C stops.`);
      await runUntilSignal([worker], { signals: interruptSignals });
      const metrics = worker.getMetrics();
      const { jobs_fired: fired = 0, jobs_missed: missed = 0, jobs_parked: parked = 0 } = metrics;
      const text = `${fired} fired, ${missed} missed, ${parked} parked; segments given back.`;
      printResult(options, { workerId, metrics }, text);
    });
}
