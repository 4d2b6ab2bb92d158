import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";

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
