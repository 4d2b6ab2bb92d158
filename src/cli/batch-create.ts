import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { Command } from "commander";
import type { BatchCommand } from "../commands/index.ts";
import { TallymanError } from "../errors/index.ts";
import { defaultDomain, parseJson } from "./command-options.ts";
import { withTallyman } from "./open.ts";
import { type GlobalOptions, printResult } from "./output.ts";

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
      const list = await readCommands(options.file);
      const domain = options.domain ?? list[0]?.domain ?? defaultDomain;
      const { name, open, customData } = options;
      const batchId = await withTallyman(options, ({ commands }) =>
        commands.createBatch(domain, list, {
          ...(name !== undefined && { name }),
          ...(open !== undefined && { open }),
          ...(customData !== undefined && {
            customData: parseJson("--custom-data", customData) as Record<string, unknown>,
          }),
        }),
      );
      const text = `Created batch ${batchId} with ${list.length} commands in domain '${domain}'.\nNext: tallyman batch watch ${batchId}`;
      printResult(options, { batchId, domain, totalCount: list.length }, text);
    });
}

/** The commands of a file with one JSON object per line; '-' is standard input. */
export async function readCommands(file: string): Promise<BatchCommand[]> {
  const input = file === "-" ? process.stdin : createReadStream(file);
  const list: BatchCommand[] = [];
  let number = 0;
  try {
    for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      number++;
      if (line.trim() !== "") list.push(readCommand(line, `${file}:${number}`));
    }
  } catch (cause) {
    if (cause instanceof TallymanError) throw cause;
    throw new TallymanError("USAGE", `${file} can't be read: ${(cause as Error).message}.`, { cause });
  }
  return list;
}

function readCommand(line: string, place: string): BatchCommand {
  const parsed = parseJson(place, line) as (Omit<BatchCommand, "runAt"> & { runAt?: string }) | null;
  if (typeof parsed?.commandType !== "string") {
    throw new TallymanError(
      "USAGE",
      `${place} has no commandType. A line looks like {"commandType": "ShipOrder", "data": {}}.`,
    );
  }
  const { runAt, data = {}, ...command } = parsed;
  return { ...command, data, ...(runAt !== undefined && { runAt: new Date(runAt) }) };
}
