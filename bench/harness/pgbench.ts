/** The physical limit of a statement: the same SQL through pgbench, a client that costs next to nothing. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Executor, Transaction } from "../../src/database/index.ts";

const programs = ["/usr/lib/postgresql/15/bin/pgbench", "/usr/bin/pgbench"];

/** The installed pgbench; undefined when there is none. */
const pgbenchProgram = programs.find((program) => existsSync(program));

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

/** How to run a script. */
export interface PgbenchOptions {
  readonly url: string;
  readonly script: string;
  readonly clients: number;
  readonly seconds: number;
}

/** Scripts per second, in the extended protocol as our driver uses it; undefined without pgbench. */
export async function pgbenchRate({
  url,
  script,
  clients,
  seconds,
}: PgbenchOptions): Promise<number | undefined> {
  if (!pgbenchProgram) return undefined;
  const folder = await mkdtemp(join(tmpdir(), "tallyman-pgbench-"));
  try {
    const file = join(folder, "script.sql");
    await writeFile(file, script);
    const args = ["-n", "-M", "extended", "-f", file, "-c", `${clients}`, "-j", "2", "-T", `${seconds}`];
    const target = new URL(url);
    const env = { ...process.env, PGPASSWORD: decodeURIComponent(target.password) };
    target.password = "";
    const { stdout } = await promisify(execFile)(pgbenchProgram, [...args, target.toString()], { env });
    return Number(/tps = ([\d.]+)/.exec(stdout)?.[1]);
  } finally {
    await rm(folder, { recursive: true });
  }
}
