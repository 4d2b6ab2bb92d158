/** The physical limit of a statement: the same SQL through pgbench, a client that costs next to nothing. */
import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Executor, Transaction } from "../../src/database/index.ts";

const debianFolder = "/usr/lib/postgresql";

/** The installed pgbench, Debian's newest; undefined when there is none. */
export function pgbenchProgram(): string | undefined {
  const versions = existsSync(debianFolder) ? readdirSync(debianFolder).map(Number) : [];
  const newestFirst = versions
    .sort((a, b) => b - a)
    .map((version) => `${debianFolder}/${version}/bin/pgbench`);
  return [...newestFirst, "/usr/bin/pgbench", "/usr/local/bin/pgbench"].find((path) => existsSync(path));
}

/** Why pgbench can't run. */
export function pgbenchMissing(): string | undefined {
  return pgbenchProgram() ? undefined : "pgbench is not installed";
}

/** The text that a statement function of ours sends. */
export async function textOf(run: (executor: Transaction) => Promise<unknown>): Promise<string> {
  let sent = "";
  const recorder: Executor = {
    query: async (text) => {
      sent = text;
      return { rows: [], rowCount: 0 };
    },
  };
  await run(recorder as Transaction);
  return sent;
}

/** Puts SQL in place of $1, $2, … and the text on one line, as pgbench wants it. */
export function withValues(text: string, values: readonly string[]): string {
  const filled = text.replaceAll(/\$(\d+)/g, (_, number: string) => `(${values[Number(number) - 1]})`);
  return filled.replaceAll(/\s+/g, " ").trim();
}

/** How to run a script: for so long, or so often by each client. */
export type PgbenchOptions = {
  readonly url: string;
  readonly script: string;
  readonly clients: number;
} & ({ readonly seconds: number } | { readonly timesEach: number });

/** How often the script ran, and in which time without connecting. */
export interface PgbenchRun {
  readonly times: number;
  readonly seconds: number;
}

/** Runs a script, in the extended protocol as our driver uses it. */
export async function runPgbench({ url, script, clients, ...bound }: PgbenchOptions): Promise<PgbenchRun> {
  const folder = await mkdtemp(join(tmpdir(), "tallyman-pgbench-"));
  try {
    const file = join(folder, "script.sql");
    await writeFile(file, script);
    const until = "seconds" in bound ? ["-T", `${bound.seconds}`] : ["-t", `${bound.timesEach}`];
    const args = ["-n", "-M", "extended", "-f", file, "-c", `${clients}`, "-j", "2", ...until];
    const target = new URL(url);
    const env = { ...process.env, PGPASSWORD: decodeURIComponent(target.password) };
    target.password = "";
    const { stdout } = await promisify(execFile)(
      pgbenchProgram() ?? "pgbench",
      [...args, target.toString()],
      { env },
    );
    const figure = (pattern: RegExp) => Number(pattern.exec(stdout)?.[1]);
    const times = figure(/actually processed: (\d+)/);
    return { times, seconds: times / figure(/tps = ([\d.]+)/) };
  } finally {
    await rm(folder, { recursive: true });
  }
}
