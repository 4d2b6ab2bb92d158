import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const folders = ["/usr/lib/postgresql/18/bin", "/usr/lib/postgresql/17/bin", "/usr/lib/postgresql/15/bin"];
const program = folders.map((folder) => join(folder, "pgbench")).find((path) => existsSync(path));

/** How to run a script through pgbench. */
export interface PgbenchOptions {
  readonly url: string;
  readonly script: string;
  readonly clients: number;
  readonly seconds: number;
}

/**
 * The physical limit of a statement: transactions per second of the same SQL sent by pgbench, which
 * costs next to nothing itself. Undefined where pgbench is not installed.
 */
export async function pgbenchRate(options: PgbenchOptions): Promise<number | undefined> {
  if (!program) return undefined;
  const folder = await mkdtemp(join(tmpdir(), "tallyman-pgbench-"));
  try {
    const file = join(folder, "script.sql");
    await writeFile(file, options.script);
    const args = ["-n", "-M", "extended", "-f", file, "-c", String(options.clients), "-j", "2"];
    const { stdout } = await promisify(execFile)(program, [
      ...args,
      "-T",
      String(options.seconds),
      options.url,
    ]);
    return Number(/tps = ([\d.]+)/.exec(stdout)?.[1]);
  } finally {
    await rm(folder, { recursive: true });
  }
}
