import { dirname } from "node:path";
import { Command } from "commander";
import {
  builtInResources,
  builtInServices,
  type Config,
  findConfigFile,
  ServiceBoard,
  ServiceManager,
  type ServiceStatus,
  type ServiceTypes,
  type StopReport,
  type Tallyman,
  wiringProblems,
} from "../app/index.ts";
import { TallymanError } from "../errors/index.ts";
import { configureLogging } from "../runtime/index.ts";
import type { HttpServer } from "../server/index.ts";
import { configuredServer, withServerFlags } from "./api-server.ts";
import { parseNumber } from "./command-options.ts";
import { interruption } from "./interrupt.ts";
import { loadModule } from "./load-module.ts";
import { openConfig, openTallyman } from "./open.ts";
import { type GlobalOptions, printLine } from "./output.ts";

interface Options extends GlobalOptions {
  readonly name?: string;
  readonly types?: string;
  readonly stopTimeout?: string;
  readonly port?: string;
  readonly host?: string;
  /** False with `--no-server`. */
  readonly server: boolean;
}

/** A user's module with service and resource types of its own. */
interface TypesModule {
  register(types: ServiceTypes): void | Promise<void>;
}

const secondMs = 1_000;

const help = `
Services start in the order of the file. One that fails leaves the rest running and is started again as its
restart block says. The first Ctrl+C (or SIGTERM) drains: all stop at once, each with its final flush. The
second gives up. Another terminal sees and operates the services with 'tallyman service'.

Beside them it serves the HTTP API and the dashboard; without any services, these alone.

A module with types of your own (--types):
  export function register({ services, resources }) {
    services.registerServiceType("Auditor", {
      ports: { storage: { usage: "storage-read", isOptional: false } },
      create: ({ name, resources, options }) => new Auditor(name, resources, options),
    });
  }

Examples:
  $ tallyman up --config pipeline.yaml
  $ tallyman up --name pipeline-b --json | jq 'select(.state == "ERROR")'`;

/** `tallyman up`: runs the services of the configuration, and the HTTP API, until it is stopped. */
export function upCommand(): Command {
  return withServerFlags(new Command("up"))
    .description(
      "run the services of the configuration and the HTTP API until Ctrl+C; prints a line per change of state",
    )
    .option("--no-server", "only the services, without the HTTP API")
    .option("--name <name>", "how others call this process (default: host name and process id)")
    .option("--types <file>", "module that registers service and resource types of your own")
    .option("--stop-timeout <seconds>", "how long each service may take to stop (default: as configured)")
    .addHelpText("after", help)
    .action(async (_options: Options, command: Command) => {
      const options = command.optsWithGlobals<Options>();
      const types = await loadTypes(options.types);
      const config = await openConfig(options, { check: (loaded) => wiringProblems(loaded, types) });
      if (Object.keys(config.services).length === 0 && !options.server) throw nothingToRun();
      quietOnTerminal(options);
      // Not withTallyman: an interruption must not close the database before the services have stopped.
      await using tallyman = await openTallyman(options, config);
      const report = await run(options, tallyman, config, types);
      if (report.notStopped.length > 0) throw notStopped(report);
    });
}

async function run(
  options: Options,
  tallyman: Tallyman,
  config: Config,
  types: ServiceTypes,
): Promise<StopReport> {
  const file = await findConfigFile({ flags: { config: options.config } });
  const manager = new ServiceManager(tallyman, config, {
    ...types,
    ...(file !== undefined && { folder: dirname(file) }),
    ...(options.stopTimeout && {
      stopTimeoutMs: parseNumber("--stop-timeout", options.stopTimeout) * secondMs,
    }),
  });
  // Before any service starts: a port that is taken is told at once.
  await using server = options.server ? configuredServer(tallyman, config) : undefined;
  await server?.start();
  await using board = new ServiceBoard(tallyman.database, manager, { name: options.name });
  await board.start();
  announce(options, board, manager);
  if (server) announceServer(options, server, config);
  await runUntilInterrupted(manager);
  printLine(options, { event: "draining" }, "Draining. A second signal gives up.");
  const report = await manager.stop();
  printLine(options, { event: "stopped", ...report }, "Stopped.");
  return report;
}

async function runUntilInterrupted(manager: ServiceManager): Promise<void> {
  const interrupted = new Promise<void>((resolve) => {
    if (interruption.aborted) resolve();
    interruption.addEventListener("abort", () => resolve(), { once: true });
  });
  await manager.start(interruption).catch((error: unknown) => {
    if (!interruption.aborted) throw error;
  });
  await interrupted;
}

/** Says what runs, then every change. */
function announce(options: Options, board: ServiceBoard, manager: ServiceManager): void {
  const services = manager.status();
  const { managerId, managerName: name } = board;
  const count = services.length === 1 ? "1 service" : `${services.length} services`;
  printLine(
    options,
    { event: "up", manager: name, managerId, pid: process.pid, services: services.map((each) => each.name) },
    `Running ${count} as ${name}. Ctrl+C stops.`,
  );
  const width = Math.max(...services.map((service) => service.name.length));
  manager.onChange((status, previous) =>
    printLine(options, { event: "state", ...status, previous }, describeChange(status, width)),
  );
}

/** Says where the API and the dashboard are, and whether they are all there is. */
function announceServer(options: Options, { url }: HttpServer, { services }: Config): void {
  const isAlone = Object.keys(services).length === 0;
  const text = `Serving the API and the dashboard on ${url}.`;
  const note = isAlone ? " No services are configured." : "";
  printLine(options, { event: "listening", url }, `${text}${note}`);
}

function describeChange(status: ServiceStatus, width: number): string {
  const time = status.since.toTimeString().slice(0, "hh:mm:ss".length);
  const line = `${time}  ${status.name.padEnd(width)}  ${status.state.padEnd("RUNNING".length)}`;
  return `${line}  ${describeTrouble(status)}`.trimEnd();
}

function describeTrouble({ error, state, nextRestart }: ServiceStatus): string {
  if (state !== "ERROR") return "";
  const plan = nextRestart
    ? `restarts in ${nextRestart.delayMs / secondMs} s, ${nextRestart.attempt} of ${nextRestart.attemptsMax}`
    : "not restarted";
  return `${error ?? "unknown error"} (${plan})`;
}

async function loadTypes(file: string | undefined): Promise<ServiceTypes> {
  const types = { services: builtInServices(), resources: builtInResources() };
  if (file === undefined) return types;
  const { register } = await loadModule<TypesModule>(file, "register", "up");
  await register(types);
  return types;
}

/** On a terminal the lines on stdout already say what INFO would. */
function quietOnTerminal({ logLevel, verbose }: Options): void {
  if (process.stderr.isTTY && !logLevel && !verbose) configureLogging({ level: "warn", format: "pretty" });
}

function nothingToRun(): TallymanError {
  return new TallymanError(
    "CONFIG_INVALID",
    "The configuration has no services. `tallyman init` writes an example to uncomment; --config names another file.",
  );
}

function notStopped({ notStopped: services }: StopReport): TallymanError {
  return new TallymanError("TIMED_OUT", `Not stopped in time: ${services.join(", ")}.`, {
    details: { services },
  });
}
