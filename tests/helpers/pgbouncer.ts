import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chown, writeFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { freePort } from "../../src/database/index.ts";

const program = "/usr/sbin/pgbouncer";
const connectTimeoutMs = 60_000;

/** Whether PgBouncer is installed here. */
export const hasPgBouncer = existsSync(program);

/** A real PgBouncer in transaction mode before the database of `url`. */
export class PgBouncer implements AsyncDisposable {
  readonly url: string;
  readonly #process: ChildProcess;

  private constructor(url: string, process: ChildProcess) {
    this.url = url;
    this.#process = process;
  }

  static async start(url: string, folder: string): Promise<PgBouncer> {
    const { hostname, port, username, password, pathname } = new URL(url);
    const own = new URL(url);
    own.port = String(await freePort());
    const users = join(folder, "users.txt");
    await writeFile(users, `"${username}" "${decodeURIComponent(password)}"\n`);
    const settings = join(folder, "pgbouncer.ini");
    await writeFile(
      settings,
      `[databases]
${pathname.slice(1)} = host=${hostname} port=${port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${own.port}
unix_socket_dir =
auth_type = plain
auth_file = ${users}
pool_mode = transaction
default_pool_size = 4
max_client_conn = 200
`,
    );
    return new PgBouncer(own.toString(), await launch(settings, [folder, users, settings], own.toString()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill("SIGKILL");
    await once(this.#process, "close");
  }
}

/** PgBouncer refuses to run as root. */
async function launch(settings: string, files: string[], url: string): Promise<ChildProcess> {
  const isRoot = process.getuid?.() === 0;
  const nobody = 65_534;
  if (isRoot) await Promise.all(files.map((file) => chown(file, nobody, nobody)));
  const child = spawn(program, [settings], { stdio: "ignore", ...(isRoot && { uid: nobody, gid: nobody }) });
  const deadline = performance.now() + connectTimeoutMs;
  while (!(await answers(url))) {
    if (performance.now() > deadline) throw new Error("PgBouncer did not start");
  }
  return child;
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client(url);
  client.on("error", () => undefined);
  return client.connect().then(
    () => client.end().then(() => true),
    () => false,
  );
}
