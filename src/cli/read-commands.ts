import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { TallymanError } from "../errors/index.ts";
import { parseJson } from "./command-options.ts";

/** A command as a line of a file has it. */
export interface CommandLine {
  readonly commandType: string;
  readonly data: unknown;
  readonly domain?: string;
}

/**
 * The commands of a file with one JSON object per line; '-' is standard input. Read as they are asked for.
 *
 * @throws TallymanError USAGE with file and line
 */
export async function* readCommands(file: string): AsyncGenerator<CommandLine, void> {
  const input = file === "-" ? process.stdin : createReadStream(file);
  let number = 0;
  try {
    for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      number++;
      if (line.trim() !== "") yield readCommand(line, `${file}:${number}`);
    }
  } catch (cause) {
    if (cause instanceof TallymanError) throw cause;
    throw new TallymanError("USAGE", `${file} can't be read: ${(cause as Error).message}.`, { cause });
  }
}

function readCommand(line: string, place: string): CommandLine {
  const parsed = parseJson(place, line) as Partial<CommandLine> | null;
  const commandType = parsed?.commandType;
  if (typeof commandType === "string") return { data: {}, ...parsed, commandType };
  throw new TallymanError(
    "USAGE",
    `${place} has no commandType. A line looks like {"commandType": "ShipOrder", "data": {}}.`,
  );
}
