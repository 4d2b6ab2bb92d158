import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { EmbeddedServer } from "../../src/database/index.ts";
import { SmallDisk } from "./small-disk.ts";

/** Faults kill processes, not machines: what the operating system has is safe. A short log fits a small disk. */
const settings = { fsync: "off", max_connections: "250", max_wal_size: "128MB" };
const diskMegabytes = 4_096;
const lookMs = 200;

/** An embedded PostgreSQL that may be crashed; it is started again as soon as that is noticed. */
export class CrashablePostgres {
  readonly disk: SmallDisk;
  readonly #server: EmbeddedServer;
  readonly #watch: Promise<void>;
  readonly #stopped = new AbortController();

  private constructor(server: EmbeddedServer, disk: SmallDisk) {
    this.#server = server;
    this.disk = disk;
    this.#watch = this.#keepUp();
  }

  /** Makes the database; the script makes its tables. */
  static async start(folder: string, prepare: URL): Promise<CrashablePostgres> {
    const disk = await SmallDisk.make(folder, diskMegabytes);
    const postgres = new CrashablePostgres(await EmbeddedServer.attach({ folder, settings }), disk);
    try {
      await promisify(execFile)(process.execPath, [fileURLToPath(prepare), postgres.url]);
      return postgres;
    } catch (error) {
      await postgres.close({ keep: false });
      throw error;
    }
  }

  /** Where it is now. */
  get url(): string {
    return this.#server.url();
  }

  /** Ends it as a crash would: SIGQUIT makes every process of it exit at once, SIGKILL hits the first one only. */
  async crash(signal: "SIGQUIT" | "SIGKILL"): Promise<boolean> {
    const pidFile = join(this.#server.folder, "data", "postmaster.pid");
    const [pid = ""] = (await readFile(pidFile, "utf8").catch(() => "")).split("\n");
    if (pid === "") return false;
    try {
      return process.kill(Number(pid), signal);
    } catch {
      return false; // it is down, and its file is still there
    }
  }

  /** Stops it; its data stay when they are to be kept. */
  async close({ keep }: { keep: boolean }): Promise<void> {
    this.#stopped.abort();
    await this.#watch;
    // Who is attached can stop it, however it fared before.
    await this.#server.ensureAttached().catch(() => undefined);
    await this.#server.close();
    await this.disk.close({ keep });
  }

  async #keepUp(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      await this.#server.ensureAttached().catch(() => undefined);
      await sleep(lookMs, undefined, { signal: this.#stopped.signal }).catch(() => undefined);
    }
  }
}
