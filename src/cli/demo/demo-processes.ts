import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Config, Tallyman } from "../../app/index.ts";

/**
 * Commands of this program as processes of their own on the demo's database. Disposing of it ends those that
 * are left and deletes what was written for them; should the demo itself be ended, they notice and stop.
 */
export class DemoProcesses implements AsyncDisposable {
  readonly #processes = new Map<string, ChildProcess>();
  readonly #folder: string;
  readonly #environment: NodeJS.ProcessEnv;

  private constructor(folder: string, environment: NodeJS.ProcessEnv) {
    this.#folder = folder;
    this.#environment = environment;
  }

  /** Prepares processes that open the same database as `tallyman`, with the settings given. */
  static async open(
    tallyman: Tallyman,
    { database }: Config,
    settings: Readonly<Record<string, unknown>>,
  ): Promise<DemoProcesses> {
    const folder = await mkdtemp(join(tmpdir(), "tallyman-demo-"));
    await writeFile(join(folder, "tallyman.config.yaml"), JSON.stringify(settings));
    const { embeddedFolder } = tallyman;
    const place =
      embeddedFolder === undefined
        ? { DATABASE_URL: database.url }
        : { TALLYMAN_EMBEDDED_FOLDER: embeddedFolder };
    return new DemoProcesses(folder, { ...process.env, ...place, TALLYMAN_SCHEMA: database.schema });
  }

  /** Starts `tallyman <args>` under a name; one that ran under it before must have ended. */
  start(name: string, args: readonly string[]): void {
    const config = ["--config", join(this.#folder, "tallyman.config.yaml"), "--log-level", "error"];
    const program = [...process.execArgv, process.argv[1] ?? "", ...args, ...config];
    this.#processes.set(
      name,
      spawn(process.execPath, program, {
        env: this.#environment,
        stdio: ["ignore", "ignore", "ignore", "ipc"],
      }),
    );
  }

  /** Ends a process at once, as a power cut does; false when there is none of this name. */
  async kill(name: string): Promise<boolean> {
    return this.#end(name, "SIGKILL");
  }

  /** Asks all processes to stop, and waits until they have. */
  async stop(): Promise<void> {
    await Promise.all([...this.#processes.keys()].map((name) => this.#end(name, "SIGTERM")));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#processes.keys()].map((name) => this.#end(name, "SIGKILL")));
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #end(name: string, signal: NodeJS.Signals): Promise<boolean> {
    const process = this.#processes.get(name);
    if (!process) return false;
    this.#processes.delete(name);
    if (process.exitCode !== null || process.signalCode !== null) return true;
    process.kill(signal);
    await once(process, "exit");
    return true;
  }
}
