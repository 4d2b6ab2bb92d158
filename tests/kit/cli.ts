import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { execute } from "../../src/cli/execute.ts";
import { configureLogging, currentLogging } from "../../src/runtime/index.ts";

/** What a command line printed, and how it ended. */
interface CommandRun {
  readonly code: number;
  readonly text: string;
  readonly errors: string;
}

/** Runs one command line of `tallyman` in this process, which saves the seconds that a new one needs to load. */
export async function runHere(...args: string[]): Promise<CommandRun> {
  const logging = currentLogging();
  const out = capture(process.stdout);
  const err = capture(process.stderr);
  try {
    const code = await execute(args);
    return { code, text: out.text().trimEnd(), errors: err.text() };
  } finally {
    out.restore();
    err.restore();
    process.exitCode = undefined;
    configureLogging(logging);
  }
}

function capture(stream: NodeJS.WriteStream): { text(): string; restore(): void } {
  const parts: string[] = [];
  const write = stream.write;
  stream.write = ((part: string | Uint8Array) => {
    parts.push(part.toString());
    return true;
  }) as typeof stream.write;
  return {
    text: () => parts.join(""),
    restore: () => {
      stream.write = write;
    },
  };
}

const main = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

/** How a command line ended. */
export interface CliRun {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs the command line on a database, as a process of its own. */
export function tallyman(url: string, ...args: string[]): Promise<CliRun> {
  const argv = ["--import", "tsx", main, "--database-url", url, ...args];
  return new Promise((resolve) => {
    execFile(process.execPath, argv, (error, out, err) =>
      resolve({ code: Number(error?.code ?? 0), out, err }),
    );
  });
}

/** The one JSON document that a command line with --json prints. */
export async function json(url: string, ...args: string[]) {
  const { out, err } = await tallyman(url, "--json", ...args);
  try {
    return JSON.parse(out);
  } catch {
    throw new Error(`no JSON from ${args.join(" ")}: ${out} ${err}`);
  }
}
