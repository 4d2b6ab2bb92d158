import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Database } from "../../database/index.ts";
import { toTallymanError } from "../../errors/index.ts";
import {
  type GivenOptions,
  logger,
  resolveOptions,
  Service,
  WakeUp,
  withTimeout,
} from "../../runtime/index.ts";
import type { ServiceManager } from "./service-manager.ts";
import {
  type ManagerRow,
  pruneServices,
  publishServices,
  removeManager,
  type TakenRequest,
} from "./sql/publish-services.ts";
import { finishRequest } from "./sql/service-requests.ts";

const log = logger("services.board");
const dayMs = 86_400_000;
const prunedAfter = { managerMs: dayMs, requestMs: 30 * dayMs };

/** Turns that a manager may miss before it counts as lost. */
const missedTurnsMax = 5;

/** How long a board that stops waits for what was asked of services: one that hangs must not keep its process. */
const signOffWaitMs = 5_000;

/** Room for the suffix below PostgreSQL's 63 bytes of a channel's name. */
const schemaLettersMax = 40;

/** Settings of a {@link ServiceBoard}. */
export interface ServiceBoardOptions {
  /** How people call this process. Default: host name and process id. */
  readonly name: string;
  /** Time between two heartbeats, which also look for requests whose hint was lost. Default 2 s. */
  readonly intervalMs: number;
}

/** The channel of hints about service requests and their outcomes. */
export function serviceChannel(database: Database): string {
  return `${database.names.schema.slice(0, schemaLettersMax)}_services`;
}

/**
 * Shows a manager's services to other processes, and does what these ask: through rows in the database, with
 * hints for speed. Start it before the manager and stop it after, so that a drain can be followed. The board
 * is a window, never a condition: while the database is away, services go on.
 *
 * @example
 * ```ts
 * await using board = new ServiceBoard(tallyman.database, manager, { name: "pipeline-a" });
 * await board.start();
 * ```
 */
export class ServiceBoard extends Service {
  /** Identifies this process among all that ever ran. */
  readonly managerId: string = randomUUID();
  /** How people call this process. */
  readonly managerName: string;
  readonly #database: Database;
  readonly #manager: ServiceManager;
  readonly #row: ManagerRow;
  readonly #intervalMs: number;
  readonly #wakeUp = new WakeUp();
  readonly #acting = new Set<Promise<void>>();
  #unsubscribe: (() => void)[] = [];
  #published: Promise<void> = Promise.resolve();
  #isCutOff = false;

  constructor(database: Database, manager: ServiceManager, given: GivenOptions<ServiceBoardOptions> = {}) {
    super("services.board");
    const options = resolveOptions<ServiceBoardOptions>(
      { name: `${hostname()}-${process.pid}`, intervalMs: 2_000 },
      given,
    );
    this.managerName = options.name;
    this.#database = database;
    this.#manager = manager;
    this.#intervalMs = options.intervalMs;
    this.#row = {
      managerId: this.managerId,
      name: options.name,
      hostname: hostname(),
      pid: process.pid,
      lostAfterMs: options.intervalMs * missedTurnsMax,
    };
  }

  protected override async onStart(): Promise<void> {
    await pruneServices(this.#database, prunedAfter);
    this.#unsubscribe = [
      this.#manager.onChange(() => this.#wakeUp.notify()),
      this.#database.listener.subscribe(serviceChannel(this.#database), (payload) => {
        if (payload === "" || payload === this.managerId) this.#wakeUp.notify();
      }),
    ];
    await publishServices(this.#database, this.#row, this.#manager.status());
  }

  protected override async runOnce(signal: AbortSignal): Promise<void> {
    await this.#publish();
    await this.#wakeUp.wait(this.#intervalMs, signal);
  }

  protected override async onStop(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe.splice(0)) unsubscribe();
    await this.#finishActing();
    await removeManager(this.#database, this.managerId).catch((error) =>
      log.warn("This process could not sign off; it is shown as lost for a while.", { error }),
    );
  }

  async #finishActing(): Promise<void> {
    const acting = Promise.all(this.#acting);
    await withTimeout(acting, signOffWaitMs, "What was asked of services").catch((error) =>
      log.warn("Signing off before all that was asked of services is done.", { error }),
    );
  }

  /** One at a time: of two at once the older view could be written last, and be shown after the outcome of a request. */
  #publish(): Promise<void> {
    this.#published = this.#published.then(() => this.#publishNow());
    return this.#published;
  }

  async #publishNow(): Promise<void> {
    try {
      const requests = await publishServices(this.#database, this.#row, this.#manager.status());
      this.#isCutOff = false;
      for (const request of requests) this.#begin(request);
    } catch (error) {
      if (!this.#isCutOff) log.warn("Other processes can't see these services for now.", { error });
      this.#isCutOff = true;
    }
  }

  /** Side by side: a stop that takes long must not keep another service from being paused. */
  #begin(request: TakenRequest): void {
    const acting = this.#carryOut(request).finally(() => this.#acting.delete(acting));
    this.#acting.add(acting);
  }

  async #carryOut({ requestId, service, action, requestedBy }: TakenRequest): Promise<void> {
    log.info(`${requestedBy} asks to ${action} ${service}.`);
    const outcome = await this.#manager.act(action, service).then(
      ({ state }) => ({ state, errorCode: null, errorMessage: null }),
      (error: unknown) => {
        const { code, message } = toTallymanError(error);
        return { state: null, errorCode: code, errorMessage: message };
      },
    );
    const channel = serviceChannel(this.#database);
    try {
      // What was asked for shows in the list before whoever asked is told that it is done. A board that
      // has signed off shows nothing more.
      if (this.state !== "STOPPED") await this.#publish();
      await finishRequest(this.#database, requestId, { ...outcome, channel });
    } catch (error) {
      log.warn("The outcome of a request could not be told.", { requestId, error });
    }
  }
}
