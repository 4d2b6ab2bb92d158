import { Command } from "commander";
import { TallymanError } from "../errors/index.ts";
import { defaultDomain, given, parseJson } from "./command-options.ts";
import { withCaller } from "./open.ts";
import { type GlobalOptions, printResult } from "./output.ts";
import { type CommandLine, readCommands } from "./read-commands.ts";

interface Options extends GlobalOptions {
  readonly file: string;
  readonly name?: string;
  readonly domain?: string;
  readonly open?: boolean;
  readonly customData?: string;
}

/** `tallyman batch create`: a batch from a file with one JSON command per line. */
export function batchCreateCommand(): Command {
  return new Command("create")
    .description("create a batch from a file with one JSON command per line; all of them or none")
    .requiredOption("--file <path>", "newline-delimited JSON, '-' for standard input")
    .option("--name <text>", "a name for people")
    .option("--domain <name>", `domain of all commands (default: the first line's, else '${defaultDomain}')`)
    .option("--custom-data <json>", "data to keep with the batch")
    .option("--open", "let it take more commands until it is sealed")
    .addHelpText(
      "after",
      `\nA line: {"commandType": "ShipOrder", "data": {"orderId": 7}}\nIt may also have commandId, replyTo, correlationId, priority, maxAttempts, runAt.\n\nExample:\n  $ tallyman batch create --file commands.ndjson --name "Evening run" --domain orders`,
    )
    .action(async (_options: Options, command: Command) => {
      const options = command.optsWithGlobals<Options>();
      const lines = readCommands(options.file);
      const first = await lines.next();
      const domain = options.domain ?? first.value?.domain ?? defaultDomain;
      const { batchId, totalCount } = await withCaller(options, (caller) =>
        caller.call("POST /api/domains/:domain/batches/import", {
          params: { domain },
          query: batchOptionsOf(options),
          body: commandsOf(domain, first, lines),
        }),
      );
      const text = `Created batch ${batchId} with ${totalCount} commands in domain '${domain}'.\nNext: tallyman batch watch ${batchId}`;
      printResult(options, { batchId, domain, totalCount }, text);
    });
}

function batchOptionsOf({ name, open, customData }: Options) {
  if (customData !== undefined) parseJson("--custom-data", customData);
  return given({ name, open, customData });
}

/** The commands to send: the first, which was read to learn the domain, and the rest. */
async function* commandsOf(
  domain: string,
  first: IteratorResult<CommandLine, void>,
  rest: AsyncGenerator<CommandLine, void>,
): AsyncGenerator<Omit<CommandLine, "domain">> {
  if (first.done) return;
  yield inDomain(domain, first.value);
  for await (const line of rest) yield inDomain(domain, line);
}

function inDomain(domain: string, { domain: own = domain, ...command }: CommandLine) {
  if (own === domain) return command;
  throw new TallymanError(
    "USAGE",
    `A ${command.commandType} names domain '${own}', but all commands of this batch are for '${domain}'.`,
  );
}
