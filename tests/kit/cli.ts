import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { Tallyman } from "../../src/app/index.ts";
import { execute } from "../../src/cli/execute.ts";
import { configureLogging, currentLogging } from "../../src/runtime/index.ts";
import { createServer } from "../../src/server/index.ts";
import type { TestContext } from "../../src/testing/index.ts";
import { plain } from "./children.ts";

/** What a command line printed, and how it ended. */
interface CommandRun {
  readonly code: number;
  readonly text: string;
  readonly errors: string;
}

/** How a command line reaches the system. */
export const places = ["a database", "a server"] as const;

/** The flags that lead to a test's database, or to a server in front of it. */
export async function flagsTo(place: (typeof places)[number], t: TestContext): Promise<string[]> {
  if (place === "a database") return ["--database-url", t.url];
  const server = t.use(createServer(t.use(await Tallyman.connect({ database: t.url })), { port: 0 }));
  await server.start();
  return ["--url", server.url];
}

/** Runs command lines in this process with these flags; see {@link runHere}. */
export function commandLine(flags: readonly string[]) {
  const run = (...args: string[]) => runHere(...args, ...flags);
  const json = async (...args: string[]) => {
    const { text, errors } = await run(...args, "--json");
    if (text === "") throw new Error(`nothing from ${args.join(" ")}: ${errors}`);
    return JSON.parse(text);
  };
  return { run, json };
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

const main = fileURLToPath(plain(new URL("../../src/cli/main.ts", import.meta.url)));

/** How a command line ended. */
export interface CliRun {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs the command line on a database, as a process of its own. */
export function tallyman(url: string, ...args: string[]): Promise<CliRun> {
  const argv = [main, "--database-url", url, ...args];
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
