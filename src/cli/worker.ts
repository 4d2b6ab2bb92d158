import { Command } from "commander";
import type { CommandBus, CommandHandler, Worker } from "../commands/index.ts";
import { TallymanError } from "../errors/index.ts";
import { runUntilSignal, sleep } from "../runtime/index.ts";
import { defaultDomain, parseNumber } from "./command-options.ts";
import { interruptSignals } from "./interrupt.ts";
import { loadModule } from "./load-module.ts";
import { openConfig, openTallyman } from "./open.ts";
import { type GlobalOptions, printResult, printStep } from "./output.ts";

const idlePollMs = 200;

/** For running handlers to end by themselves, and as long again to end when they are told to. */
const handlerDrainMs = 30_000;
/** For the last outcomes. */
const settleMs = 10_000;
const shutdown = { signals: interruptSignals, drainMs: 2 * handlerDrainMs + settleMs };

interface Options extends GlobalOptions {
  readonly handlers: string;
  readonly domain?: string;
  readonly concurrency: string;
  readonly exitWhenIdle?: boolean;
}

interface HandlersModule {
  readonly domain?: string;
  readonly handlers: Readonly<Record<string, CommandHandler>>;
}

/** `tallyman worker`: runs handlers from a file until a signal. */
export function workerCommand(): Command {
  return new Command("worker")
    .description("run command handlers from a file until Ctrl+C; running ones finish first")
    .requiredOption("--handlers <file>", "module that exports `handlers`, and perhaps `domain`")
    .option("--domain <name>", `the domain (default: the module's, else '${defaultDomain}')`)
    .option("--concurrency <n>", "handlers at the same time", "10")
    .option("--exit-when-idle", "stop when nothing is left to do in the domain")
    .addHelpText(
      "after",
      `\nA module:\n  export const domain = "orders";\n  export const handlers = {\n    ShipOrder: async ({ data }, context) =>\n      context.transaction((tx) => tx.query("INSERT INTO shipment VALUES ($1)", [data.orderId])),\n  };\n\nExample:\n  $ tallyman worker --handlers ./handlers.mjs --concurrency 20`,
    )
    .action(async (_options: Options, command: Command) => {
      const options = command.optsWithGlobals<Options>();
      const module = await loadHandlers(options.handlers);
      const domain = options.domain ?? module.domain ?? defaultDomain;
      const concurrency = parseNumber("--concurrency", options.concurrency);
      const config = await openConfig(options);
      // Not withTallyman: an interruption must not close the database before running handlers have ended.
      await using tallyman = await openTallyman(options, config);
      const { commands } = tallyman;
      const worker = commands.worker({
        domain,
        concurrency,
        handlers: module.handlers,
        drainMs: handlerDrainMs,
      });
      printStep(
        options,
        `Working on domain '${domain}': ${Object.keys(module.handlers).join(", ")}. Ctrl+C stops.`,
      );
      await (options.exitWhenIdle ? runUntilIdle(commands, worker) : runUntilSignal([worker], shutdown));
      const metrics = worker.getMetrics();
      const { commands_completed: completed = 0, commands_troubleshooting: troubled = 0 } = metrics;
      printResult(
        options,
        { domain, metrics },
        `${completed} completed, ${troubled} moved to the troubleshooting queue.`,
      );
    });
}

/** Ends when nothing is left to do, or by a signal before that. */
async function runUntilIdle(commands: CommandBus, worker: Worker): Promise<void> {
  const idle = new AbortController();
  const ended = new AbortController();
  const watch = untilIdle(commands, worker, ended.signal).finally(() => idle.abort());
  // What it fails with is thrown below, when running handlers have ended.
  watch.catch(() => undefined);
  try {
    await runUntilSignal([worker], { ...shutdown, signal: idle.signal });
  } finally {
    ended.abort();
    await watch;
  }
}

async function untilIdle(commands: CommandBus, worker: Worker, ended: AbortSignal): Promise<void> {
  while (!ended.aborted) {
    await sleep(idlePollMs);
    const domain = (await commands.domains()).find((each) => each.domain === worker.domain);
    const { ready = 0, waiting = 0, inProgress = 0 } = domain ?? {};
    const { commands_held: held = 0, commands_unsettled: unsettled = 0 } = worker.getMetrics();
    if (ready + waiting + inProgress + held + unsettled === 0) return;
  }
}

async function loadHandlers(file: string): Promise<HandlersModule> {
  const module = await loadModule<HandlersModule>(file, "handlers", "worker");
  if (typeof module.handlers === "object") return module;
  throw new TallymanError(
    "USAGE",
    `${file} exports no \`handlers\`: an object of functions by command type.`,
  );
}
