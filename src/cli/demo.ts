import { once } from "node:events";
import { Command } from "commander";
import { doctor, Tallyman } from "../app/index.ts";
import { exitCodes } from "../errors/index.ts";
import { describeDiagnosis } from "./doctor.ts";
import { openConfig } from "./open.ts";
import { type GlobalOptions, printResult, printStep } from "./output.ts";

interface Options extends GlobalOptions {
  readonly keep?: boolean;
}

/** `tallyman demo`: shows the main job from nothing to a checked result. */
export function demoCommand(): Command {
  return new Command("demo")
    .description("see it work: database up, migrated and checked; everything accounted for")
    .option("--keep", "stay up until Ctrl+C, so that other commands can look around")
    .addHelpText(
      "after",
      "\nExamples:\n  $ tallyman demo --json\n  $ tallyman demo --keep   # then, elsewhere: tallyman doctor",
    )
    .action(async (_options: Options, command: Command) => {
      const options = command.optsWithGlobals<Options>();
      const startedMs = performance.now();
      const config = await openConfig(options);
      printStep(
        options,
        config.database.url ? "Connecting to your PostgreSQL …" : "Starting the embedded PostgreSQL …",
      );
      await using tallyman = await Tallyman.open(config.database);
      const diagnosis = await doctor(tallyman);
      const seconds = (performance.now() - startedMs) / 1000;
      const summary = { success: diagnosis.healthy, seconds: Number(seconds.toFixed(2)), doctor: diagnosis };
      printResult(options, summary, `${describeDiagnosis(diagnosis)}\n\nReady in ${seconds.toFixed(1)} s.`);
      if (!diagnosis.healthy) process.exitCode = exitCodes.error;
      if (options.keep) await untilInterrupted(options);
    });
}

async function untilInterrupted(options: Options): Promise<void> {
  printStep(options, "Staying up; try 'tallyman doctor' in another terminal. Ctrl+C ends the demo.");
  const keepAlive = setInterval(() => undefined, 60_000);
  await Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
  clearInterval(keepAlive);
}
