import { Command } from "commander";
import type { ServiceAction } from "../app/index.ts";
import type { Api, Caller } from "../client/index.ts";
import { type AuditedOptions, audited } from "./audited.ts";
import { given, parseNumber } from "./command-options.ts";
import { durationText } from "./duration.ts";
import { withCaller } from "./open.ts";
import { alignColumns, type GlobalOptions, printResult, printStep } from "./output.ts";

interface ActionOptions extends AuditedOptions {
  readonly manager?: string;
  readonly timeout: string;
}

type Manager = Api["GET /api/services"]["data"][number];
type Result = Api["POST /api/services/:service/start"]["data"];

const secondMs = 1_000;

const descriptions: Readonly<Record<ServiceAction, string>> = {
  start: "start services that are stopped or have failed",
  stop: "stop services, each with its final flush; they are not restarted",
  pause: "let services finish what they are at, then do nothing until resumed",
  resume: "let paused services go on",
  restart: "stop services, then start them again",
};

/** `tallyman service …`: sees and operates the services of every running `tallyman up`. */
export function serviceCommand(): Command {
  const service = new Command("service").description(
    "see and operate the services of every running 'tallyman up'",
  );
  service.addCommand(listCommand());
  for (const [action, description] of Object.entries(descriptions)) {
    service.addCommand(audited(actionCommand(action as ServiceAction, description)));
  }
  return service;
}

function listCommand(): Command {
  return new Command("list")
    .description("list the services of all running processes, with their states")
    .addHelpText(
      "after",
      "\nExample:\n  $ tallyman service list --json | jq '.managers[].services[] | select(.state == \"ERROR\")'",
    )
    .action(async (_options: GlobalOptions, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const managers = await withCaller(options, (caller) => caller.call("GET /api/services"));
      printResult(options, { managers }, describeManagers(managers));
    });
}

function actionCommand(action: ServiceAction, description: string): Command {
  return new Command(action)
    .description(description)
    .argument("<services...>", "names of services, as in the configuration")
    .option("--manager <name>", "process that runs them, by name or id, when several do")
    .option("--timeout <seconds>", "how long to wait for the outcome", "60")
    .addHelpText("after", `\nExample:\n  $ tallyman service ${action} dummy-indexer --manager host-4711`)
    .action(async (names: string[], _options: ActionOptions, command: Command) => {
      const options = command.optsWithGlobals<ActionOptions>();
      const services = await withCaller(options, (caller) => actOnEach(caller, action, names, options));
      printResult(options, { action, services }, describeResults(services));
    });
}

/** One after the other, in the order given: the first that is refused ends it. */
async function actOnEach(
  caller: Caller,
  action: ServiceAction,
  names: readonly string[],
  options: ActionOptions,
): Promise<Result[]> {
  const { manager, timeout } = options;
  const body = { ...given({ manager }), timeoutMs: parseNumber("--timeout", timeout) * secondMs };
  const results: Result[] = [];
  try {
    for (const service of names) {
      results.push(await caller.call(`POST /api/services/:service/${action}`, { params: { service }, body }));
    }
  } catch (error) {
    if (results.length > 0) printStep(options, describeResults(results));
    throw error;
  }
  return results;
}

function describeResults(results: readonly Result[]): string {
  return results.map(({ service, manager, state }) => `${service} on ${manager}: ${state}`).join("\n");
}

function describeManagers(managers: readonly Manager[]): string {
  if (managers.length === 0) return "No services run on this database. Start some with 'tallyman up'.";
  return managers.map(describeManager).join("\n\n");
}

function describeManager(manager: Manager): string {
  const { name, pid, hostname, isLost, heartbeatAgeMs, services } = manager;
  const lost = isLost ? `, LOST: silent for ${durationText(heartbeatAgeMs)}` : "";
  const rows = services.map((service) => serviceRow(service, isLost));
  return [
    `${name} (process ${pid} on ${hostname}${lost})`,
    alignColumns([["  SERVICE", "CLASS", "STATE", "FOR", "RESTARTS", ""], ...rows]),
  ].join("\n");
}

function serviceRow(service: Manager["services"][number], isLost: boolean): string[] {
  const { name, className, state, isStarting, sinceMs, restarts, error } = service;
  const shown = isStarting ? `${state}, starting` : state;
  return [
    `  ${name}`,
    className,
    isLost ? `was ${shown}` : shown,
    durationText(sinceMs),
    String(restarts),
    error ?? "",
  ];
}
