import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Database, EmbeddedServer, migrate } from "../../src/database/index.ts";

/** Faults kill processes, not machines: what the operating system has is safe. */
const settings = { fsync: "off", max_connections: "250" };
const lookMs = 200;

/** What the children write to, outside of Tallyman's own tables: no keys, so that whatever is done twice shows. */
const effectTables = `
  CREATE SCHEMA chaos;
  CREATE TABLE chaos.effect (domain text, command_id uuid, doer text, at timestamptz DEFAULT clock_timestamp());
  CREATE TABLE chaos.attempt (domain text, command_id uuid, doer text, at timestamptz DEFAULT clock_timestamp());
  CREATE TABLE chaos.seen (run_id text, tick bigint, doer text, at timestamptz DEFAULT clock_timestamp());`;

/** An embedded PostgreSQL that may be crashed; it is started again as soon as that is noticed. */
export class CrashablePostgres implements AsyncDisposable {
  readonly #server: EmbeddedServer;
  readonly #watch: Promise<void>;
  readonly #stopped = new AbortController();

  private constructor(server: EmbeddedServer) {
    this.#server = server;
    this.#watch = this.#keepUp();
  }

  /** Makes the database, with all tables. */
  static async start(folder: string): Promise<CrashablePostgres> {
    const server = await EmbeddedServer.attach({ folder, settings });
    await using database = await Database.connect({ url: server.url(), listenUrl: null }, server);
    await migrate(database);
    await database.query(effectTables);
    return new CrashablePostgres(server);
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
    process.kill(Number(pid), signal);
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.abort();
    await this.#watch;
    await this.#server.close();
  }

  async #keepUp(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      await this.#server.ensureAttached().catch(() => undefined);
      await sleep(lookMs, undefined, { signal: this.#stopped.signal }).catch(() => undefined);
    }
  }
}
