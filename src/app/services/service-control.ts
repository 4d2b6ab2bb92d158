import type { Database } from "../../database/index.ts";
import { didYouMean, type ErrorCode, errorCatalogue, TallymanError } from "../../errors/index.ts";
import { type ServiceState, WakeUp } from "../../runtime/index.ts";
import type { ServiceAction } from "./managed-service.ts";
import { serviceChannel } from "./service-board.ts";
import { serviceUnknown } from "./service-manager.ts";
import { type ListedManager, listManagers } from "./sql/list-managers.ts";
import { removeManager } from "./sql/publish-services.ts";
import { insertRequest, type RequestOutcome, readRequest, withdrawRequest } from "./sql/service-requests.ts";

const timeoutMsDefault = 60_000;
const pollIntervalMs = 500;

/** Which service is meant, and who asks. */
export interface ServiceRequestOptions {
  /** Name or id of the process, when several run a service of this name. */
  readonly manager?: string | undefined;
  /** Who asks, for the record. */
  readonly requestedBy: string;
  /** How long to wait for the outcome. Default 60 s. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What was asked of a service, and of which. */
export interface SubmittedRequest {
  readonly requestId: number;
  readonly action: ServiceAction;
  readonly service: string;
  /** Name of the process that runs it. */
  readonly manager: string;
  readonly managerId: string;
}

/** A service after what was asked of it. */
export interface ServiceActionResult {
  readonly manager: string;
  readonly managerId: string;
  readonly service: string;
  readonly state: ServiceState;
}

/**
 * The services of all processes on this database, seen and operated from any other. Needs no connection to
 * them: a {@link ServiceBoard} in each shows its services and takes requests.
 *
 * @example
 * ```ts
 * const control = new ServiceControl(tallyman.database);
 * const [manager] = await control.list();
 * await control.request("pause", "dummy-indexer", { requestedBy: "mia" });
 * ```
 */
export class ServiceControl {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Every process that runs services, the oldest first, those that are lost included. */
  list(): Promise<ListedManager[]> {
    return listManagers(this.#database);
  }

  /**
   * Forgets a process that is gone for good, and its services. One that lives enters itself again.
   *
   * @returns false when there is none with this id
   */
  forget(managerId: string): Promise<boolean> {
    return removeManager(this.#database, managerId);
  }

  /**
   * Asks for an action and waits until it is done.
   *
   * @throws TallymanError as {@link submit} and {@link outcome}
   */
  async request(
    action: ServiceAction,
    service: string,
    options: ServiceRequestOptions,
  ): Promise<ServiceActionResult> {
    return this.outcome(await this.submit(action, service, options), options);
  }

  /**
   * Asks for an action: on a database inside a transaction, when that commits.
   *
   * @throws TallymanError SERVICE_UNKNOWN, SERVICE_AMBIGUOUS
   */
  async submit(
    action: ServiceAction,
    service: string,
    { manager, requestedBy }: Pick<ServiceRequestOptions, "manager" | "requestedBy">,
  ): Promise<SubmittedRequest> {
    const { managerId, name } = findTarget(await this.list(), service, manager);
    const channel = serviceChannel(this.#database);
    const request = { managerId, service, action, requestedBy, channel };
    const requestId = await insertRequest(this.#database, request);
    return { requestId, action, service, manager: name, managerId };
  }

  /**
   * Waits until what was asked for is done; takes it back when nobody has begun with it in time.
   *
   * @throws TallymanError SERVICE_WRONG_STATE and other errors as the service's own process reports them;
   * TIMED_OUT when that process does not answer
   */
  async outcome(
    request: SubmittedRequest,
    options: Pick<ServiceRequestOptions, "timeoutMs" | "signal"> = {},
  ): Promise<ServiceActionResult> {
    const { manager, managerId, service } = request;
    const wakeUp = new WakeUp();
    const channel = serviceChannel(this.#database);
    const unsubscribe = this.#database.listener.subscribe(channel, () => wakeUp.notify());
    try {
      const outcome = await this.#outcome(request, wakeUp, options);
      return { manager, managerId, service, state: stateOf(outcome) };
    } finally {
      unsubscribe();
    }
  }

  async #outcome(
    request: SubmittedRequest,
    wakeUp: WakeUp,
    { timeoutMs = timeoutMsDefault, signal }: Pick<ServiceRequestOptions, "timeoutMs" | "signal">,
  ): Promise<RequestOutcome> {
    const { requestId } = request;
    const deadlineMs = performance.now() + timeoutMs;
    for (;;) {
      const outcome = await readRequest(this.#database, requestId);
      if (outcome?.isDone) return outcome;
      const remainingMs = deadlineMs - performance.now();
      if (!outcome || remainingMs <= 0 || signal?.aborted) {
        await withdrawRequest(this.#database, requestId);
        signal?.throwIfAborted();
        throw unanswered(request, outcome, timeoutMs);
      }
      await wakeUp.wait(Math.min(pollIntervalMs, remainingMs), signal).catch(() => undefined);
    }
  }
}

function findTarget(
  managers: readonly ListedManager[],
  service: string,
  wanted: string | undefined,
): ListedManager {
  const alive = managers.filter(({ isLost }) => !isLost);
  const named = wanted === undefined ? alive : alive.filter((manager) => isCalled(manager, wanted));
  if (wanted !== undefined && named.length === 0) throw managerUnknown(wanted, alive);
  const having = named.filter(({ services }) => services.some(({ name }) => name === service));
  const [target] = having;
  if (!target) {
    throw serviceUnknown(
      service,
      named.flatMap(({ services }) => services.map(({ name }) => name)),
    );
  }
  if (having.length > 1) throw ambiguous(service, having);
  return target;
}

function isCalled({ name, managerId }: ListedManager, wanted: string): boolean {
  return name === wanted || managerId === wanted;
}

/** The state it led to; or the error of the service's own process, as if it had been thrown here. */
function stateOf({ state, errorCode, errorMessage }: RequestOutcome): ServiceState {
  if (errorCode !== null) {
    const code = Object.hasOwn(errorCatalogue, errorCode) ? (errorCode as ErrorCode) : "INTERNAL";
    throw new TallymanError(code, errorMessage ?? "The service's process gave no reason.");
  }
  return state ?? "STOPPED";
}

function managerUnknown(wanted: string, alive: readonly ListedManager[]): TallymanError {
  const names = alive.map(({ name }) => name);
  const hint = names.length === 0 ? "None is running." : didYouMean(wanted, names);
  return new TallymanError("SERVICE_UNKNOWN", `No running process is called '${wanted}'. ${hint}`, {
    details: { manager: wanted },
  });
}

function ambiguous(service: string, having: readonly ListedManager[]): TallymanError {
  const names = having.map(({ name, managerId }) => ({ name, managerId }));
  const twins = new Set(names.map(({ name }) => name)).size < names.length;
  const shown = names.map(({ name, managerId }) => (twins ? managerId : name)).join(", ");
  return new TallymanError(
    "SERVICE_AMBIGUOUS",
    `${having.length} processes run a service '${service}'. Name one with --manager: ${shown}.`,
    { details: { service, managers: names } },
  );
}

function unanswered(
  { action, service, manager }: SubmittedRequest,
  outcome: RequestOutcome | undefined,
  timeoutMs: number,
): TallymanError {
  const details = { service, action, manager };
  if (!outcome) {
    const message = `${manager} ended before it could ${action} ${service}.`;
    return new TallymanError("SERVICE_UNKNOWN", message, { details });
  }
  const what = outcome.isTaken ? "is still at it" : "did not answer, and the request was taken back";
  const message = `${manager} was asked to ${action} ${service} and ${what} after ${timeoutMs} ms.`;
  return new TallymanError("TIMED_OUT", message, { details });
}
