import { Command } from "commander";
import type { Api, Caller } from "../client/index.ts";
import type { TsqFilter } from "../commands/index.ts";
import { exitCodes, TallymanError } from "../errors/index.ts";
import { type AuditedOptions, audited } from "./audited.ts";
import { defaultDomain, given, parseJson, parseNumber } from "./command-options.ts";
import { withCaller } from "./open.ts";
import { alignColumns, printProgress, printResult } from "./output.ts";

interface FilterOptions extends AuditedOptions {
  readonly domain?: string;
  readonly type?: string;
  readonly signature?: string;
}

interface ActionOptions extends FilterOptions {
  readonly all?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly result?: string;
}

type ActionName = "retry" | "complete" | "cancel";

const done: Readonly<Record<ActionName, string>> = {
  retry: "sent back to the workers",
  complete: "completed",
  cancel: "cancelled",
};

/** `tallyman tsq`: the troubleshooting queue. */
export function tsqCommand(): Command {
  return new Command("tsq")
    .description("look at commands that failed for good, and repair them")
    .addCommand(listCommand())
    .addCommand(groupsCommand())
    .addCommand(audited(actionCommand("retry", "send commands back to the workers")))
    .addCommand(
      audited(
        actionCommand("complete", "end commands as completed, by hand").option(
          "--result <json>",
          "result for their senders",
        ),
      ),
    )
    .addCommand(audited(actionCommand("cancel", "end commands as cancelled")));
}

function withFilter(command: Command): Command {
  return command
    .option("--domain <name>", "only of this domain")
    .option("--type <type>", "only of this command type")
    .option("--signature <text>", "only with this kind of error, as 'tsq groups' shows it");
}

function filterOf({ domain, type, signature }: FilterOptions): TsqFilter {
  return given({ domain, commandType: type, errorSignature: signature });
}

interface ListOptions extends FilterOptions {
  readonly limit: string;
  readonly cursor?: string;
}

function listCommand(): Command {
  return withFilter(new Command("list"))
    .description("list the commands in the troubleshooting queue, oldest first")
    .option("--limit <n>", "commands at most, up to 1000", "20")
    .option("--cursor <domain/commandId>", "go on after this command")
    .addHelpText("after", "\nExample:\n  $ tallyman tsq list --domain orders --json | jq '.[].errorMessage'")
    .action(async (_options: ListOptions, command: Command) => {
      const options = command.optsWithGlobals<ListOptions>();
      const query = {
        ...filterOf(options),
        ...given({ cursor: options.cursor }),
        limit: parseNumber("--limit", options.limit),
      };
      const { items: found } = await withCaller(options, (caller) => caller.call("GET /api/tsq", { query }));
      printResult(
        options,
        found,
        found.length === 0 ? "Nothing is in the troubleshooting queue." : listTable(found),
      );
    });
}

function listTable(found: Api["GET /api/tsq"]["data"]["items"]): string {
  const rows = found.map((command) => [
    command.commandId,
    command.domain,
    command.commandType,
    `${command.attempts}`,
    command.troubleshootingAt ?? "",
    command.errorMessage ?? "",
  ]);
  return alignColumns([["COMMAND", "DOMAIN", "TYPE", "ATTEMPTS", "SINCE", "ERROR"], ...rows]);
}

function groupsCommand(): Command {
  return withFilter(new Command("groups"))
    .description("count the commands in the troubleshooting queue by kind of error")
    .addHelpText("after", "\nExample:\n  $ tallyman tsq groups")
    .action(async (_options: FilterOptions, command: Command) => {
      const options = command.optsWithGlobals<FilterOptions>();
      const query = filterOf(options);
      const groups = await withCaller(options, (caller) => caller.call("GET /api/tsq/groups", { query }));
      printResult(
        options,
        groups,
        groups.length === 0 ? "Nothing is in the troubleshooting queue." : groupTable(groups),
      );
    });
}

function groupTable(groups: Api["GET /api/tsq/groups"]["data"]): string {
  const rows = groups.map(({ count, domain, commandType, oldest, errorSignature }) => [
    `${count}`,
    domain,
    commandType,
    oldest,
    errorSignature,
  ]);
  return alignColumns([["COUNT", "DOMAIN", "TYPE", "OLDEST", "KIND OF ERROR"], ...rows]);
}

function actionCommand(name: ActionName, description: string): Command {
  return withFilter(new Command(name))
    .description(description)
    .argument("[commandIds...]", "their ids; or --all with filters")
    .option("--all", "all that match the filters")
    .option("--dry-run", "only say how many match")
    .option("--yes", "do it: --all changes nothing without")
    .addHelpText(
      "after",
      `\nExamples:\n  $ tallyman tsq ${name} 0190e5a2-… --domain orders\n  $ tallyman tsq ${name} --all --domain orders --signature 'PermanentError: gateway is down' --yes`,
    )
    .action(async (ids: string[], _options: ActionOptions, command: Command) => {
      const options = command.optsWithGlobals<ActionOptions>();
      refuseBadTarget(ids, options);
      const outcome = await withCaller(options, (caller) =>
        options.all ? actOnAll(caller, name, options) : actOnEach(caller, name, ids, options),
      );
      printResult(options, outcome, describe(name, outcome));
      if (outcome.matched > 0 && outcome.changed === 0 && !options.dryRun) process.exitCode = exitCodes.usage;
    });
}

function refuseBadTarget(ids: readonly string[], { all, type, signature }: ActionOptions): void {
  if (ids.length > 0 === (all ?? false))
    throw new TallymanError(
      "USAGE",
      "Name the commands by id, or pass --all with filters; not both, not neither.",
    );
  if (!all && (type !== undefined || signature !== undefined))
    throw new TallymanError("USAGE", "--type and --signature go with --all; ids name the commands already.");
}

interface ActionOutcome {
  readonly matched: number;
  readonly changed: number;
}

async function actOnEach(
  caller: Caller,
  name: ActionName,
  ids: readonly string[],
  options: ActionOptions,
): Promise<ActionOutcome> {
  const commandIds = [...new Set(ids)];
  const { domain = defaultDomain } = options;
  if (options.dryRun) return { matched: await countTroubled(caller, domain, commandIds), changed: 0 };
  const { changed } = await caller.call(`POST /api/tsq/${name}`, {
    body: { domain, commandIds, ...resultOf(options) },
  });
  return { matched: commandIds.length, changed };
}

/** How many of these an action would change; one that is not there is an error, as it is for the action. */
async function countTroubled(caller: Caller, domain: string, commandIds: readonly string[]): Promise<number> {
  const found = await Promise.all(
    commandIds.map((commandId) =>
      caller.call("GET /api/domains/:domain/commands/:commandId", { params: { domain, commandId } }),
    ),
  );
  return found.filter(({ status }) => status === "IN_TROUBLESHOOTING_QUEUE").length;
}

/** Call by call, as many as each takes. What comes back into the queue meanwhile is left for the next time. */
async function actOnAll(caller: Caller, name: ActionName, options: ActionOptions): Promise<ActionOutcome> {
  const matching = filterOf(options);
  const { matched } = await caller.call("GET /api/tsq/preview", { query: matching });
  if (options.dryRun || !options.yes) return { matched, changed: 0 };
  let changed = 0;
  for (let remaining = matched; remaining > 0 && changed < matched; ) {
    const body = { matching, limit: matched - changed, ...resultOf(options) };
    const step = await caller.call(`POST /api/tsq/${name}`, { body });
    if (step.changed === 0) break;
    changed += step.changed;
    remaining = step.remaining;
    printProgress(options, `${changed} of ${matched} ${done[name]}`, remaining === 0 || changed >= matched);
  }
  return { matched, changed };
}

function resultOf({ result }: ActionOptions) {
  return given({ result: result === undefined ? undefined : parseJson("--result", result) });
}

function describe(name: ActionName, { matched, changed }: ActionOutcome): string {
  const match = `${matched} ${matched === 1 ? "command matches" : "commands match"}`;
  return changed === 0 && matched > 0
    ? `${match}; nothing was changed. Run it with --yes, and without --dry-run, to ${name} them.`
    : `${match}, ${changed} ${done[name]}.`;
}
