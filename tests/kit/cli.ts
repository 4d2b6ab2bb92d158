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
