import { Command } from "commander";
import { doctor } from "../app/index.ts";
import { exitCodes, isTallymanError } from "../errors/index.ts";
import { sleep } from "../runtime/index.ts";
import { describeDiagnosis } from "./doctor.ts";
import { interruption } from "./interrupt.ts";
import { withTallyman } from "./open.ts";
import { type GlobalOptions, printResult, printStep } from "./output.ts";

interface Options extends GlobalOptions {
  readonly keep?: boolean;
}

const examples = `
Examples:
  $ tallyman demo --json
  $ tallyman demo --keep   # then, in another terminal: tallyman doctor`;

/** `tallyman demo`: shows the main job from nothing to a checked result. */
export function demoCommand(): Command {
  return new Command("demo")
    .description("see it work: database up, migrated and checked; everything accounted for")
    .option("--keep", "stay up until Ctrl+C, so that other commands can look around")
    .addHelpText("after", examples)
    .action(async (_options: Options, command: Command) => {
      const options = command.optsWithGlobals<Options>();
      const startedMs = performance.now();
      printStep(options, "Opening the database …");
      await withTallyman(options, async (tallyman) => {
        const diagnosis = await doctor(tallyman);
        const seconds = (performance.now() - startedMs) / 1000;
        const summary = {
          success: diagnosis.healthy,
          seconds: Number(seconds.toFixed(2)),
          doctor: diagnosis,
        };
        printResult(options, summary, `${describeDiagnosis(diagnosis)}\n\nReady in ${seconds.toFixed(1)} s.`);
        if (!diagnosis.healthy) process.exitCode = exitCodes.error;
        if (options.keep) await stayUp(options);
      }).catch(unlessKept(options));
    });
}

async function stayUp(options: Options): Promise<void> {
  printStep(options, "Staying up; try 'tallyman doctor' in another terminal. Ctrl+C ends the demo.");
  await sleep(Number.POSITIVE_INFINITY, interruption);
}

/** Ctrl+C is how a kept demo ends. */
function unlessKept(options: Options): (error: unknown) => void {
  return (error) => {
    if (!options.keep || !isTallymanError(error, "ABORTED")) throw error;
  };
}
