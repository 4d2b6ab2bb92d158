import { exitCodes, isTallymanError, TallymanError } from "../../errors/index.ts";
import { Counter, ErrorLog, type Monitorable, type OperationalError } from "../../monitoring/index.ts";
import {
  backoffMs,
  type Clock,
  isAbort,
  logger,
  type Service,
  type ServiceState,
} from "../../runtime/index.ts";
import type { ServiceConfig } from "../config/index.ts";

const log = logger("services");
const backoffFactor = 2;

/** What can be asked of a service by its name. */
export type ServiceAction = "start" | "stop" | "pause" | "resume" | "restart";

/** The states in which an action makes sense. */
const allowedIn: Readonly<Record<ServiceAction, readonly ServiceState[]>> = {
  start: ["STOPPED", "ERROR"],
  stop: ["RUNNING", "PAUSED", "ERROR"],
  pause: ["RUNNING"],
  resume: ["PAUSED"],
  restart: ["STOPPED", "RUNNING", "PAUSED", "ERROR"],
};

/** All actions, for help and checks. */
export const serviceActions: readonly ServiceAction[] = Object.keys(allowedIn) as ServiceAction[];

/** A service as it is now. */
export interface ServiceStatus {
  readonly name: string;
  readonly className: string;
  readonly state: ServiceState;
  /** Since when, by this machine's clock. */
  readonly since: Date;
  /** It is on its way to RUNNING: opening its resources, or in its own start. */
  readonly isStarting: boolean;
  /** How often its restart policy has started it again. */
  readonly restarts: number;
  /** Why it is in ERROR. */
  readonly error?: string;
  /** The restart that is to come. */
  readonly nextRestart?: { readonly attempt: number; readonly attemptsMax: number; readonly delayMs: number };
}

/** How a service is looked after. */
export interface ManagedServiceOptions {
  readonly name: string;
  readonly className: string;
  readonly autostart: boolean;
  readonly restart: ServiceConfig["restart"];
  readonly clock: Clock;
  /** Opens what the service needs and makes it; called again after it failed. */
  create(): Promise<Service>;
  /** Told of every change of state. */
  changed(status: ServiceStatus, previous: ServiceState): void;
}

interface PendingRestart {
  readonly timer: AbortController;
  readonly attempt: number;
  readonly delayMs: number;
}

/**
 * One service under supervision: made when it is first started, restarted by its policy when it fails, and
 * watched over all its lives. The policy counts restarts in a row; a life that was long enough begins the
 * count anew. An error that a restart can't change (a wrong option) is final.
 */
export class ManagedService implements Monitorable {
  readonly #options: ManagedServiceOptions;
  readonly #restarts = new Counter();
  readonly #errors = new ErrorLog();
  #instance: Service | undefined;
  /** The one whose states are told: the instance, or the one before it until there is a next. */
  #followed: Service | undefined;
  #state: ServiceState = "STOPPED";
  #since: Date;
  #failure: Error | undefined;
  #runningSinceMs: number | undefined;
  /** From start() to stop(): only then does a failure lead to a restart. */
  #isWanted = false;
  #failures = 0;
  #attempts = 0;
  #pending: PendingRestart | undefined;
  #launching: Promise<void> | undefined;
  /** Raised by every stop: a launch that began before it ends without a service. */
  #stops = 0;

  constructor(options: ManagedServiceOptions) {
    this.#options = options;
    this.#since = new Date(options.clock.now());
  }

  get name(): string {
    return this.#options.name;
  }

  get autostart(): boolean {
    return this.#options.autostart;
  }

  get status(): ServiceStatus {
    const { name, className, restart } = this.#options;
    const { attempt, delayMs } = this.#pending ?? {};
    return {
      name,
      className,
      state: this.#state,
      since: this.#since,
      isStarting: this.#launching !== undefined && this.#state !== "RUNNING",
      restarts: this.#restarts.value,
      ...(this.#failure && { error: this.#failure.message }),
      ...(attempt !== undefined &&
        delayMs !== undefined && { nextRestart: { attempt, attemptsMax: restart.maxRestarts, delayMs } }),
    };
  }

  /**
   * Does what an operator asks.
   *
   * @throws TallymanError SERVICE_WRONG_STATE; from start and restart also what kept the service from starting
   */
  async act(action: ServiceAction): Promise<void> {
    const isStopOfStart = action === "stop" && this.#launching !== undefined;
    if (!isStopOfStart && !allowedIn[action].includes(this.#state)) throw this.#wrongState(action);
    try {
      await this[action]();
    } catch (error) {
      throw isTallymanError(error, "INVALID_STATE") ? this.#wrongState(action, error) : error;
    }
  }

  /** Starts the service; whatever it had failed of is forgotten. */
  start(): Promise<void> {
    this.#cancelRestart();
    this.#isWanted = true;
    this.#attempts = 0;
    return this.#launch();
  }

  /** Stops it, its final flush included, and keeps it from being restarted. Never rejects. */
  async stop(): Promise<void> {
    this.#stops++;
    this.#isWanted = false;
    this.#cancelRestart();
    const wasFailed = this.#state === "ERROR";
    await this.#instance?.stop();
    await this.#launching?.catch(() => undefined);
    // A start that came meanwhile counts, whatever it led to.
    if (wasFailed && !this.#isWanted && this.#state === "ERROR") this.#enter("STOPPED");
  }

  async pause(): Promise<void> {
    await this.#existing("pause").pause();
  }

  async resume(): Promise<void> {
    await this.#existing("resume").resume();
  }

  async restart(): Promise<void> {
    const stops = this.#stops + 1;
    await this.stop();
    if (this.#stops !== stops) throw this.#stoppedWhileStarting();
    await this.start();
  }

  /** Lets go of the stopped service, so that the next start makes a new one with new resources. */
  discard(): void {
    this.#instance = undefined;
  }

  getMetrics(): Readonly<Record<string, number>> {
    const own = isMonitorable(this.#instance) ? this.#instance.getMetrics() : {};
    return {
      ...own,
      service_running: this.#state === "RUNNING" ? 1 : 0,
      service_restarts: this.#restarts.value,
      error_count: (own.error_count ?? 0) + this.#errors.size,
    };
  }

  isHealthy(): boolean {
    if (this.#state === "ERROR") return false;
    return isMonitorable(this.#instance) ? this.#instance.isHealthy() : true;
  }

  getErrors(): readonly OperationalError[] {
    const own = isMonitorable(this.#instance) ? this.#instance.getErrors() : [];
    return [...this.#errors.list(), ...own];
  }

  clearErrors(): void {
    this.#errors.clear();
    if (isMonitorable(this.#instance)) this.#instance.clearErrors();
  }

  /** Concurrent calls share one launch. */
  #launch(): Promise<void> {
    this.#launching ??= this.#begin().finally(() => {
      this.#launching = undefined;
    });
    return this.#launching;
  }

  async #begin(): Promise<void> {
    const stops = this.#stops;
    const instance = this.#instance ?? (await this.#make());
    if (this.#stops !== stops) throw this.#stoppedWhileStarting();
    const failures = this.#failures;
    await instance.start().catch((error: unknown) => {
      // A start that fails from ERROR changes no state, so nobody has told us.
      const isNews = instance.state === "ERROR" && this.#failures === failures && !isAbort(error);
      if (isNews) this.#failed(error);
      throw error;
    });
  }

  async #make(): Promise<Service> {
    try {
      const instance = await this.#options.create();
      instance.onStateChange((state) => {
        if (instance === this.#followed) this.#follow(state, instance);
      });
      this.#followed = instance;
      this.#instance = instance;
      return instance;
    } catch (error) {
      log.error(`${this.name} can't be started: ${toError(error).message}`, { error });
      this.#failed(error);
      throw error;
    }
  }

  #follow(state: ServiceState, instance: Service): void {
    if (state === "ERROR") {
      this.#failed(instance.failure);
      return;
    }
    if (state === "RUNNING") this.#runningSinceMs ??= this.#options.clock.monotonicMs();
    if (state === "STOPPED") this.#runningSinceMs = undefined;
    this.#enter(state);
  }

  #failed(error: unknown): void {
    this.#failures++;
    const failure = toError(error);
    if (this.#wasHealthy()) this.#attempts = 0;
    this.#runningSinceMs = undefined;
    this.#errors.add({
      code: "SERVICE_FAILED",
      message: "The service failed",
      details: `Error: ${failure.message}`,
    });
    this.#scheduleRestart(failure);
    this.#enter("ERROR", failure);
  }

  #wasHealthy(): boolean {
    const { clock, restart } = this.#options;
    return (
      this.#runningSinceMs !== undefined &&
      clock.monotonicMs() - this.#runningSinceMs >= restart.healthyAfterMs
    );
  }

  #scheduleRestart(failure: Error): void {
    const { restart, clock } = this.#options;
    if (!this.#isWanted || restart.policy === "never" || isFinal(failure)) return;
    if (this.#attempts >= restart.maxRestarts) return;
    const attempt = ++this.#attempts;
    const delayMs = backoffMs(attempt, {
      initialMs: restart.backoffMs,
      maxMs: restart.maxBackoffMs,
      factor: backoffFactor,
      jitter: 0,
    });
    const timer = new AbortController();
    this.#pending = { timer, attempt, delayMs };
    void this.#restartAfter(clock.sleep(delayMs, timer.signal));
  }

  async #restartAfter(elapsed: Promise<void>): Promise<void> {
    try {
      await elapsed;
      this.#pending = undefined;
      // A start that has failed may still be releasing what it had; a stop may come meanwhile.
      await this.#launching?.catch(() => undefined);
      if (!this.#isWanted) return;
      this.#restarts.increment();
      await this.#launch();
    } catch (error) {
      if (!isAbort(error)) log.debug("A restart failed", { service: this.name, reason: String(error) });
    }
  }

  #cancelRestart(): void {
    this.#pending?.timer.abort();
    this.#pending = undefined;
  }

  #enter(state: ServiceState, failure?: Error): void {
    const previous = this.#state;
    this.#failure = failure;
    if (state === previous && state !== "ERROR") return;
    this.#state = state;
    this.#since = new Date(this.#options.clock.now());
    this.#options.changed(this.status, previous);
  }

  #existing(action: ServiceAction): Service {
    if (this.#instance) return this.#instance;
    throw this.#wrongState(action);
  }

  #stoppedWhileStarting(): TallymanError {
    return new TallymanError("ABORTED", `${this.name} was stopped while starting.`);
  }

  #wrongState(action: ServiceAction, cause?: unknown): TallymanError {
    const fitting = serviceActions.filter((each) => allowedIn[each].includes(this.#state));
    return new TallymanError(
      "SERVICE_WRONG_STATE",
      `Can't ${action} ${this.name}: it is ${this.#state}. Possible now: ${fitting.join(", ")}.`,
      { details: { service: this.name, state: this.#state, action }, cause },
    );
  }
}

/** Errors of the configuration: a restart would only repeat them. */
function isFinal(error: Error): boolean {
  return isTallymanError(error) && error.entry.exit === exitCodes.usage;
}

function isMonitorable(service: unknown): service is Monitorable {
  return typeof (service as Partial<Monitorable> | undefined)?.getMetrics === "function";
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
