import pg from "pg";
import { TallymanError } from "../../errors/index.ts";
import { logger, sleep } from "../../runtime/index.ts";
import { installedBinaries, locateBinaries } from "./binaries.ts";
import { embeddedUser, openDataFolder } from "./data-folder.ts";
import { type Postmaster, readPidFile, startPostmaster, stopPostmaster } from "./postmaster.ts";
import { serverUser } from "./server-user.ts";

/** Held shared by every attached process; taken alone by the one that stops the server. */
const attachLockKey = 7_425_539;
const attachTimeoutMs = 60_000;
/** A server that is stopped in its tracks accepts a connection and says nothing. */
const connectTimeoutMs = 5_000;
const retryMs = 25;

const log = logger("database.embedded");

/** Where the embedded server keeps its data and how it starts. */
export interface EmbeddedServerOptions {
  /** Folder of the database. Default `.tallyman/postgres` below the current folder. */
  readonly folder?: string;
  /** A fixed port. Default: a free one, kept from start to start while it stays free. */
  readonly port?: number;
  /** PostgreSQL's own programs instead of the npm package's, e.g. `/usr/lib/postgresql/17/bin`. */
  readonly binFolder?: string;
  /** Server settings for a start by this process, e.g. `{ fsync: "off" }` for tests. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** How one attempt to attach ended: done, try again soon, or no server is there. */
type Attempt = "attached" | "wait" | "absent";

/**
 * One process's attachment to an embedded PostgreSQL that belongs to no process.
 *
 * Every attached process holds a connection with a *shared* advisory lock on it. Whoever leaves gives
 * its lock back and tries to take it *alone*: success means that nobody else is there, and a
 * newcomer's attempt fails until the server is down, so it starts it again. A killed process loses
 * its connection, hence its lock. A server that went away is started again by whoever notices first.
 *
 * @example
 * ```ts
 * await using server = await EmbeddedServer.attach({ folder: ".tallyman/postgres" });
 * const client = new pg.Client(server.url());
 * ```
 */
export class EmbeddedServer {
  readonly #postmaster: Postmaster;
  #attachment: pg.Client | undefined;
  #attaching: Promise<void> | undefined;
  #port = 0;
  #closed = false;

  private constructor(postmaster: Postmaster) {
    this.#postmaster = postmaster;
  }

  /** Makes the database when it is not there, starts it when it does not run, and attaches. */
  static async attach(options: EmbeddedServerOptions = {}): Promise<EmbeddedServer> {
    const user = await serverUser();
    const binaries = options.binFolder
      ? await installedBinaries(options.binFolder)
      : await locateBinaries(user);
    const folder = await openDataFolder(options.folder ?? ".tallyman/postgres", binaries, user);
    const { port, settings = {} } = options;
    const server = new EmbeddedServer({ folder, binaries, user, port, settings });
    await server.ensureAttached();
    return server;
  }

  get port(): number {
    return this.#port;
  }

  /** The folder that holds data, password and log. */
  get folder(): string {
    return this.#postmaster.folder.folder;
  }

  /** Connection string of one of the server's databases. */
  url(database = "postgres"): string {
    const password = encodeURIComponent(this.#postmaster.folder.password);
    return `postgres://${embeddedUser}:${password}@127.0.0.1:${this.#port}/${database}`;
  }

  /** Attaches again, starting the server when it is down. Concurrent calls share one attempt. */
  ensureAttached(): Promise<void> {
    if (this.#attachment) return Promise.resolve();
    this.#attaching ??= this.#attachUntilDeadline().finally(() => {
      this.#attaching = undefined;
    });
    return this.#attaching;
  }

  /** Lets the process end while it is attached, as a test run does that never closes its server. */
  unref(): void {
    (this.#attachment as { unref?(): void } | undefined)?.unref?.();
  }

  /** Leaves; the last process out stops the server. Safe to call twice. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#attaching?.catch(() => undefined);
    const attachment = this.#attachment;
    this.#attachment = undefined;
    if (!attachment) return;
    (attachment as { ref?(): void }).ref?.();
    try {
      if (await becomesLast(attachment)) await stopPostmaster(this.#postmaster);
    } finally {
      await attachment.end().catch(() => undefined);
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #attachUntilDeadline(): Promise<void> {
    const deadline = performance.now() + attachTimeoutMs;
    while (performance.now() < deadline) {
      // Also when closed meanwhile: a server that this process has just started needs a last one out.
      const attempt = await this.#tryAttach();
      if (attempt === "attached") return;
      if (this.#closed)
        throw new TallymanError("ABORTED", "Attaching to the embedded PostgreSQL was given up.");
      if (attempt === "absent") await this.#start();
      else await sleep(retryMs);
    }
    throw new TallymanError(
      "EMBEDDED_START_FAILED",
      `The embedded PostgreSQL in ${this.folder} took no connection for ${attachTimeoutMs / 1000} s; its log is ${this.#postmaster.folder.log}.`,
    );
  }

  async #start(): Promise<void> {
    try {
      await startPostmaster(this.#postmaster);
    } catch (error) {
      // Another process may have started it a moment before us: then ours fails on the pid file.
      const pidFile = await readPidFile(this.#postmaster.folder);
      if (!pidFile?.isAlive && !isHeldByRemains(error)) throw error;
      await sleep(retryMs);
    }
  }

  async #tryAttach(): Promise<Attempt> {
    const pidFile = await readPidFile(this.#postmaster.folder);
    if (!pidFile?.isAlive) return "absent";
    this.#port = pidFile.port;
    const client = new pg.Client({
      connectionString: this.url(),
      application_name: `tallyman attached ${process.pid}`,
      connectionTimeoutMillis: connectTimeoutMs,
    });
    client.on("error", () => this.#lost(client));
    client.once("end", () => this.#lost(client));
    if (await takesLock(client)) {
      this.#attachment = client;
      return "attached";
    }
    await client.end().catch(() => undefined);
    return "wait";
  }

  #lost(client: pg.Client): void {
    if (this.#attachment !== client || this.#closed) return;
    this.#attachment = undefined;
    log.warn("Lost the embedded PostgreSQL, attaching again", { folder: this.folder });
    this.ensureAttached().catch((error: unknown) => {
      if (!this.#closed) log.error("Could not attach again", { error });
    });
  }
}

/** Whether processes of a killed server have not ended yet; the next one can't start before they have. */
function isHeldByRemains(error: unknown): boolean {
  return /shared memory block .*is still in use/.test((error as Error).message);
}

/** False while the server starts up, shuts down, or is being stopped by the last one out. */
async function takesLock(client: pg.Client): Promise<boolean> {
  try {
    await client.connect();
    const { rows } = await client.query("SELECT pg_try_advisory_lock_shared($1) AS ok", [attachLockKey]);
    return rows[0]?.ok === true;
  } catch (error) {
    if ((error as { code?: string }).code === "28P01") throw error;
    return false;
  }
}

async function becomesLast(attachment: pg.Client): Promise<boolean> {
  try {
    await attachment.query("SELECT pg_advisory_unlock_shared($1)", [attachLockKey]);
    const { rows } = await attachment.query("SELECT pg_try_advisory_lock($1) AS ok", [attachLockKey]);
    return rows[0]?.ok === true;
  } catch {
    return false; // the server is gone already
  }
}
