import { Command } from "commander";
import { type Config, doctor, Tallyman } from "../app/index.ts";
import { exitCodes, isTallymanError } from "../errors/index.ts";
import { configureLogging, sleep } from "../runtime/index.ts";
import { parseNumber } from "./command-options.ts";
import { commandsDemo } from "./demo/commands-demo.ts";
import type { DemoPart } from "./demo/demo-part.ts";
import { LivingFleet } from "./demo/living-fleet.ts";
import { pipelineDemo } from "./demo/pipeline-demo.ts";
import { schedulerDemo } from "./demo/scheduler-demo.ts";
import { describeDiagnosis } from "./doctor.ts";
import { interruption } from "./interrupt.ts";
import { withTallyman } from "./open.ts";
import { type GlobalOptions, printResult, printStep } from "./output.ts";

interface Options extends GlobalOptions {
  readonly keep?: boolean;
  readonly port?: string;
}

type RunPart = (tallyman: Tallyman, say: (text: string) => void, config: Config) => Promise<DemoPart>;

/** What the demo shows, in this order; each under its own name in the JSON. */
const parts: Readonly<Record<string, RunPart>> = {
  commands: commandsDemo,
  pipeline: pipelineDemo,
  scheduler: schedulerDemo,
};

const examples = `
Examples:
  $ tallyman demo --json
  $ tallyman demo --keep   # then open the address it prints, or, in another terminal: tallyman doctor`;

/** `tallyman demo`: shows the main job from nothing to a checked result. */
export function demoCommand(): Command {
  return new Command("demo")
    .description(
      "see it work: a batch with failures and their repair, a simulation indexed through faults, jobs whose leader is killed; everything accounted for",
    )
    .option("--keep", "then go on with living data and the dashboard, until Ctrl+C")
    .option(
      "--port <n>",
      "port of the dashboard with --keep; 0 picks a free one (default: server.port, 8082)",
    )
    .addHelpText("after", examples)
    .action(async (_options: Options, command: Command) => {
      const options = command.optsWithGlobals<Options>();
      const startedMs = performance.now();
      printStep(options, "Opening the database …");
      const config = await withTallyman(options, async (tallyman, config) => {
        if (!options.verbose) configureLogging({ level: "warn" }); // the steps tell the story
        const shown = await runParts(tallyman, config, (text) => printStep(options, text));
        const diagnosis = await doctor(tallyman);
        const seconds = (performance.now() - startedMs) / 1000;
        const success = diagnosis.healthy && Object.values(shown).every((part) => part.success);
        const data = Object.fromEntries(Object.entries(shown).map(([name, part]) => [name, part.data]));
        const summary = { success, seconds: Number(seconds.toFixed(2)), ...data, doctor: diagnosis };
        const lines = [...Object.values(shown).map(({ text }) => text), `Ready in ${seconds.toFixed(1)} s.`];
        printResult(options, summary, [describeDiagnosis(diagnosis), "", ...lines].join("\n"));
        if (!success) process.exitCode = exitCodes.error;
        return config;
      });
      if (options.keep) await stayUp(config, options).catch(unlessInterrupted);
    });
}

async function runParts(
  tallyman: Tallyman,
  config: Config,
  say: (text: string) => void,
): Promise<Record<string, DemoPart>> {
  const shown: Record<string, DemoPart> = {};
  for (const [name, run] of Object.entries(parts)) shown[name] = await run(tallyman, say, config);
  return shown;
}

async function stayUp(config: Config, options: Options): Promise<void> {
  const port = options.port === undefined ? config.server.port : parseNumber("--port", options.port, 0);
  // Not withTallyman: an interruption must not close the database before the fleet has stopped.
  await using tallyman = await Tallyman.open(config.database);
  await using fleet = await LivingFleet.start(tallyman, { port });
  printStep(options, `The dashboard is at ${fleet.url} and shows a fleet at work. Ctrl+C ends the demo.`);
  await sleep(Number.POSITIVE_INFINITY, interruption);
}

/** Ctrl+C is how a kept demo ends. */
function unlessInterrupted(error: unknown): void {
  if (!isTallymanError(error, "ABORTED")) throw error;
}
