import type { Readable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { TallymanError } from "../errors/index.ts";

/** Lines that are parsed before the process does something else. */
const linesPerTurn = 2_000;

/**
 * Reads one JSON value per line; empty lines are skipped.
 *
 * @throws TallymanError REQUEST_INVALID with the number of a line that is no JSON; REQUEST_TOO_LARGE
 */
export async function parseNdjson(stream: Readable, bytesMax: number): Promise<unknown[]> {
  const values: unknown[] = [];
  let rest = "";
  let bytes = 0;
  let line = 0;
  stream.setEncoding("utf8");
  const parse = (text: string) => {
    line++;
    if (text.trim() !== "") values.push(parseLine(text, line));
  };
  for await (const chunk of stream as AsyncIterable<string>) {
    bytes += Buffer.byteLength(chunk);
    if (bytes > bytesMax) throw tooLarge(bytesMax);
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const text of lines) {
      parse(text);
      if (line % linesPerTurn === 0) await nextTurn();
    }
  }
  parse(rest);
  return values;
}

function parseLine(text: string, line: number): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new TallymanError("REQUEST_INVALID", `Line ${line} is not JSON: ${(cause as Error).message}.`, {
      cause,
      details: { field: `line ${line}` },
    });
  }
}

function tooLarge(bytesMax: number): TallymanError {
  return new TallymanError(
    "REQUEST_TOO_LARGE",
    `The import is larger than ${bytesMax} bytes. Send it in parts, to an open batch.`,
  );
}
