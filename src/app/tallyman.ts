import { CommandBus } from "../commands/index.ts";
import {
  Database,
  type DatabaseOptions,
  EmbeddedServer,
  type EmbeddedServerOptions,
  type MigrationReport,
  migrate,
} from "../database/index.ts";
import { TallymanError } from "../errors/index.ts";
import { MetricsRegistry } from "../monitoring/index.ts";
import { AccessTokens, recordAction } from "../operators/index.ts";
import { Scheduler } from "../scheduler/index.ts";
import { PostgresTopics } from "../topics/index.ts";
import type { DatabaseConfig } from "./config/index.ts";

/** What to do about missing migrations when Tallyman is opened. */
export interface OpenOptions {
  /** Apply them. Default true; false refuses a database that lacks any. */
  readonly migrate?: boolean;
  /** Look for them at all. Default true; false opens any database, to examine or migrate it. */
  readonly check?: boolean;
}

/** Who does what to what, and why. */
export interface ActionRequest {
  readonly actor: string;
  /** Such as `tsq.retry`. */
  readonly action: string;
  readonly reason?: string | undefined;
  /** What connects it with logs and answers. */
  readonly requestId: string;
}

/** What an action came to. */
export interface ActionOutcome<T> {
  readonly data: T;
  /** Ids or filter. */
  readonly target: Readonly<Record<string, unknown>>;
  /** How many things changed. */
  readonly changed: number;
}

/** How to open Tallyman on a PostgreSQL server. */
export interface ConnectOptions extends OpenOptions {
  /** Connection string, or all the options of the pool. */
  readonly database: string | DatabaseOptions;
}

/** How to open Tallyman on the embedded PostgreSQL. */
export interface EmbeddedOptions extends EmbeddedServerOptions, OpenOptions {
  /** Schema of Tallyman's tables. Default `tallyman`. */
  readonly schema?: string;
  /** Connections at most. Default 10. */
  readonly poolMax?: number;
  /** Window of rates and percentiles. Default 5 s. */
  readonly metricsWindowSeconds?: number;
}

/**
 * Tallyman, opened: the one object that an application keeps. It owns its pool and, when embedded, its
 * attachment to the server; closing it closes both. Safe to share between all parts of a process.
 *
 * @example
 * ```ts
 * await using tallyman = await Tallyman.embedded();
 * const { rows } = await tallyman.database.query("SELECT version()");
 * ```
 */
export class Tallyman implements AsyncDisposable {
  readonly database: Database;
  /** Everything of this process that can be watched. */
  readonly metrics: MetricsRegistry = new MetricsRegistry();
  /** Topics and consumer groups in this database. */
  readonly topics: PostgresTopics;
  /** Jobs, fleet, segments and coordinators of this database. */
  readonly scheduler: Scheduler;
  /** Who may use the HTTP API. */
  readonly tokens: AccessTokens;
  readonly #embedded: EmbeddedServer | undefined;
  #commands: CommandBus | undefined;
  #closed: Promise<void> | undefined;

  private constructor(database: Database, embedded?: EmbeddedServer) {
    this.database = database;
    this.topics = new PostgresTopics(database);
    this.scheduler = new Scheduler(database, () => this.commands);
    this.tokens = new AccessTokens(database);
    this.#embedded = embedded;
    this.metrics.register("resource", "database", database);
  }

  /**
   * Opens Tallyman on a PostgreSQL server, 15 or newer.
   *
   * @throws TallymanError DATABASE_UNREACHABLE, DATABASE_LOGIN_FAILED, DATABASE_VERSION_UNSUPPORTED,
   * DATABASE_TOO_NEW, or MIGRATION_PENDING with `migrate: false`
   * @example
   * ```ts
   * await using tallyman = await Tallyman.connect({ database: "postgres://localhost/app" });
   * ```
   */
  static async connect(options: ConnectOptions): Promise<Tallyman> {
    const given = options.database as string | DatabaseOptions | undefined;
    const pool = typeof given === "object" ? given : { url: given ?? "" };
    const tallyman = new Tallyman(await Database.connect(pool));
    return tallyman.#ready(options);
  }

  /**
   * Opens Tallyman on an embedded PostgreSQL, which is made and started when needed and shared by all
   * processes that open the same folder; the last one to close stops it.
   *
   * @throws TallymanError EMBEDDED_… with what is wrong about binaries, folder or start
   */
  static async embedded(options: EmbeddedOptions = {}): Promise<Tallyman> {
    const { schema, poolMax, metricsWindowSeconds, ...serverOptions } = options;
    const embedded = await EmbeddedServer.attach(serverOptions);
    try {
      const pool = {
        url: embedded.url(),
        ...(schema && { schema }),
        ...(poolMax && { poolMax }),
        ...(metricsWindowSeconds && { metricsWindowSeconds }),
      };
      const tallyman = new Tallyman(await Database.connect(pool, embedded), embedded);
      return await tallyman.#ready(options);
    } catch (error) {
      await embedded.close();
      throw error;
    }
  }

  /** Opens Tallyman as the configuration says: on its server, or embedded. */
  static open(
    config: DatabaseConfig,
    { metricsWindowSeconds, ...options }: OpenOptions & Pick<DatabaseOptions, "metricsWindowSeconds"> = {},
  ): Promise<Tallyman> {
    const { schema, maxPoolSize } = config;
    const pool = { schema, poolMax: maxPoolSize, ...(metricsWindowSeconds && { metricsWindowSeconds }) };
    if (config.url === undefined) {
      const { folder, port } = config.embedded;
      return Tallyman.embedded({ folder, ...(port && { port }), ...pool, ...options });
    }
    const listen = config.listenUrl === undefined ? {} : { listenUrl: config.listenUrl };
    return Tallyman.connect({ database: { url: config.url, ...pool, ...listen }, ...options });
  }

  /** The command bus: send commands, follow batches, repair failures. */
  get commands(): CommandBus {
    this.#commands ??= new CommandBus(this.database);
    return this.#commands;
  }

  /** The folder of the embedded server; undefined on a server of your own. */
  get embeddedFolder(): string | undefined {
    return this.#embedded?.folder;
  }

  /** Applies missing migrations, or only lists them. */
  migrate(options: { dryRun?: boolean } = {}): Promise<MigrationReport> {
    return migrate(this.database, options);
  }

  /**
   * Does what an operator asked for, and writes down who did it, in one transaction.
   *
   * @param work gets a Tallyman whose every statement belongs to that transaction; it must not wait for others, and
   * may be run again, so it has no effects but those
   * @example
   * ```ts
   * await tallyman.act({ actor: "mia", action: "job.pause", requestId }, async (inside) => {
   *   await inside.scheduler.jobs.pause("report");
   *   return { data: null, target: { key: "report" }, changed: 1 };
   * });
   * ```
   */
  act<T>(
    { actor, action, reason, requestId }: ActionRequest,
    work: (inside: Tallyman) => Promise<ActionOutcome<T>>,
  ): Promise<T> {
    return this.database.transaction(async (tx) => {
      const inside = new Tallyman(this.database.within(tx));
      inside.#commands = this.commands.on(inside.database);
      const { data, target, changed } = await work(inside);
      await inside.#settled();
      await recordAction(tx, { actor, action, target, changed, reason: reason ?? null, requestId });
      return data;
    });
  }

  /** Closes topics and pool, and leaves the embedded server. Safe to call twice. */
  close(): Promise<void> {
    this.#closed ??= this.#closeAll();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Resolves when nothing is under way that was begun and not awaited, such as a hint. */
  async #settled(): Promise<void> {
    await this.#commands?.close();
    await this.topics.close();
  }

  async #closeAll(): Promise<void> {
    await this.scheduler.close();
    await this.#commands?.close();
    await this.topics.close();
    await this.database.close();
    await this.#embedded?.close();
  }

  async #ready({ migrate = true, check = true }: OpenOptions): Promise<Tallyman> {
    if (!check) return this;
    try {
      const { pending } = await this.migrate({ dryRun: !migrate });
      if (pending.length > 0) throw migrationPending(pending);
      return this;
    } catch (error) {
      await this.close();
      throw error;
    }
  }
}

function migrationPending(pending: readonly string[]): TallymanError {
  return new TallymanError(
    "MIGRATION_PENDING",
    `The database lacks ${pending.length} migration(s): ${pending.join(", ")}. Run 'tallyman migrate'.`,
    { details: { pending } },
  );
}
