import { didYouMean, TallymanError } from "../../errors/index.ts";
import {
  type Clock,
  type GivenOptions,
  isAbort,
  logger,
  resolveOptions,
  type Service,
  type ServiceState,
  systemClock,
  withTimeout,
} from "../../runtime/index.ts";
import { TopicRetention } from "../../topics/index.ts";
import type { Config, ServiceConfig } from "../config/index.ts";
import type { Tallyman } from "../tallyman.ts";
import { builtInServices } from "./built-in.ts";
import { builtInResources } from "./built-in-resources.ts";
import { checkWiring, topicRetentionName } from "./check-wiring.ts";
import { ManagedService, type ServiceAction, type ServiceStatus } from "./managed-service.ts";
import { OpenResources } from "./open-resources.ts";
import type { ResourceRegistry } from "./resource-registry.ts";
import type { ServiceRegistry } from "./service-registry.ts";
import { stopWaves } from "./stop-waves.ts";

const log = logger("services");
const startWaitMsDefault = 10_000;

/** Topics of this class keep what no sweep deletes. */
const sweptClassName = "PostgresTopic";

/** Settings of a {@link ServiceManager}. */
export interface ServiceManagerOptions {
  /** Service classes that the configuration may name. Default: {@link builtInServices}. */
  readonly services: ServiceRegistry;
  /** Resource classes that the configuration may name. Default: {@link builtInResources}. */
  readonly resources: ResourceRegistry;
  /** Where relative paths of resources begin. Default: the working directory. */
  readonly folder: string;
  /** How long the start of one service holds up the next; then they start side by side. Default 10 s. */
  readonly startWaitMs: number;
  /** How long each service may take to stop. Default: the configuration's `settings.stopTimeoutMs`. */
  readonly stopTimeoutMs: number;
  /** Default: the machine's clock. */
  readonly clock: Clock;
}

/** Told of every change of a service's state. */
export type ServiceChangeListener = (status: ServiceStatus, previous: ServiceState) => void;

/** What {@link ServiceManager.stop} brought. */
export interface StopReport {
  /** Services that stopped in time, their final flush included. */
  readonly stopped: readonly string[];
  /** Services that did not; their resources are closed all the same. */
  readonly notStopped: readonly string[];
}

/**
 * The services of one process, from the configuration: resources are opened once and shared, services start
 * in the order of the file and stop side by side. One that fails leaves the rest running and is started again
 * by its restart policy. Calls may come at any time and from anywhere.
 *
 * @example
 * ```ts
 * await using tallyman = await Tallyman.open(config.database);
 * await using manager = new ServiceManager(tallyman, config);
 * manager.onChange(({ name, state }) => console.log(name, state));
 * await manager.start();
 * await manager.act("pause", "dummy-indexer");
 * ```
 */
export class ServiceManager implements AsyncDisposable {
  readonly #tallyman: Tallyman;
  readonly #config: Config;
  readonly #options: Readonly<ServiceManagerOptions>;
  readonly #resources: OpenResources;
  readonly #services = new Map<string, ManagedService>();
  readonly #listeners = new Set<ServiceChangeListener>();
  readonly #unregister: (() => void)[] = [];
  #stopping: Promise<StopReport> | undefined;
  /** Raised by every stop: a start that began before it ends. */
  #stops = 0;
  #hasStarted = false;

  /**
   * Checks the configuration; opens and starts nothing.
   *
   * @throws TallymanError CONFIG_INVALID naming every unknown class and every port that is not bound as its
   * service needs it; INVALID_OPTION
   */
  constructor(tallyman: Tallyman, config: Config, given: GivenOptions<ServiceManagerOptions> = {}) {
    this.#tallyman = tallyman;
    this.#config = config;
    this.#options = resolveOptions<ServiceManagerOptions>(
      {
        services: builtInServices(),
        resources: builtInResources(),
        folder: process.cwd(),
        startWaitMs: startWaitMsDefault,
        stopTimeoutMs: config.settings.stopTimeoutMs,
        clock: systemClock,
      },
      given,
    );
    checkWiring(config, this.#options);
    const { resources: types, folder } = this.#options;
    this.#resources = new OpenResources({ tallyman, config, types, folder });
    this.#addPlatformServices();
    for (const [name, service] of Object.entries(config.services)) {
      this.#add(name, service, () => this.#create(name, service));
    }
  }

  /** Every service as it is now, in the order of their start. */
  status(): readonly ServiceStatus[] {
    return Array.from(this.#services.values(), (service) => service.status);
  }

  /** Calls the listener on each change of a service's state, until the returned function is called. */
  onChange(listener: ServiceChangeListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Starts the services, in order, but for those with `autostart: false`. One that fails to start does not
   * keep the others from it; one that takes long holds them up for `startWaitMs` at most.
   *
   * @throws TallymanError SERVICE_WRONG_STATE while the manager stops; ABORTED when the signal ended the start
   */
  async start(signal?: AbortSignal): Promise<void> {
    if (this.#stopping) throw this.#isStopping();
    const stops = this.#stops;
    this.#watch();
    for (const service of this.#services.values()) {
      signal?.throwIfAborted();
      if (this.#stops !== stops) return;
      if (service.autostart) await this.#startNext(service, signal);
    }
  }

  /**
   * Stops all services at once, each with its final flush, then closes the resources; those that take from a
   * queue inside the process stop after those that put into it, so that nothing is left in it. Safe before start
   * and twice; concurrent calls share one drain.
   */
  stop(): Promise<StopReport> {
    this.#stops++;
    this.#stopping ??= this.#drain().finally(() => {
      this.#stopping = undefined;
    });
    return this.#stopping;
  }

  /**
   * Does something with one service.
   *
   * @returns the service after it
   * @throws TallymanError SERVICE_UNKNOWN; SERVICE_WRONG_STATE; from start and restart also what kept the
   * service from starting
   */
  async act(action: ServiceAction, name: string): Promise<ServiceStatus> {
    const service = this.#services.get(name);
    if (!service) throw serviceUnknown(name, this.#services.keys());
    if (this.#stopping) throw this.#isStopping();
    this.#watch();
    await service.act(action);
    return service.status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #add(
    name: string,
    { className, autostart, restart }: Pick<ServiceConfig, "className" | "autostart" | "restart">,
    create: () => Promise<Service>,
  ): void {
    const { clock } = this.#options;
    const changed: ServiceChangeListener = (status, previous) => this.#tell(status, previous);
    this.#services.set(
      name,
      new ManagedService({ name, className, autostart, restart, clock, create, changed }),
    );
  }

  #addPlatformServices(): void {
    const isSwept = Object.values(this.#config.resources).some(
      ({ className }) => className === sweptClassName,
    );
    if (!isSwept) return;
    const { topicSweepIntervalMs: sweepIntervalMs } = this.#config.settings;
    const restart = {
      policy: "on-error" as const,
      maxRestarts: Number.MAX_SAFE_INTEGER,
      backoffMs: sweepIntervalMs,
      maxBackoffMs: sweepIntervalMs,
      healthyAfterMs: sweepIntervalMs,
    };
    this.#add(
      topicRetentionName,
      { className: "TopicRetention", autostart: true, restart },
      async () => new TopicRetention(this.#tallyman.topics, { sweepIntervalMs }),
    );
  }

  async #create(name: string, { className, resources: uris, options }: ServiceConfig): Promise<Service> {
    const type = this.#options.services.find(className);
    if (!type) throw new TallymanError("CONFIG_INVALID", this.#options.services.unknown(className));
    const resources = await this.#resources.bind(name, type.ports, uris);
    return type.create({ name, resources: resources as never, options, tallyman: this.#tallyman });
  }

  async #startNext(service: ManagedService, signal: AbortSignal | undefined): Promise<void> {
    const { startWaitMs, clock } = this.#options;
    const interrupt = () => void service.stop();
    signal?.addEventListener("abort", interrupt, { once: true });
    // The service tells of its failure itself: in its state, its log and to its restart policy.
    const started = service.start().catch((error: unknown) => {
      if (!isAbort(error)) log.debug("A service did not start", { service: service.name });
    });
    void started.finally(() => signal?.removeEventListener("abort", interrupt));
    await withTimeout(started, startWaitMs, service.name, clock).catch(() =>
      log.info(`${service.name} takes long to start; going on with the others.`),
    );
  }

  async #drain(): Promise<StopReport> {
    const late = new Set<string>();
    const platform = [...this.#services.keys()].filter((name) => !Object.hasOwn(this.#config.services, name));
    for (const wave of [...stopWaves(this.#config.services), platform]) {
      await Promise.all(wave.map(async (name) => (await this.#stopInTime(name)) || late.add(name)));
    }
    await this.#resources.close();
    for (const service of this.#services.values()) service.discard();
    for (const unregister of this.#unregister.splice(0)) unregister();
    this.#hasStarted = false;
    const names = [...this.#services.keys()];
    const notStopped = names.filter((name) => late.has(name));
    if (notStopped.length > 0) {
      log.error(`Not stopped within ${this.#options.stopTimeoutMs} ms: ${notStopped.join(", ")}.`);
    }
    return { stopped: names.filter((name) => !late.has(name)), notStopped };
  }

  async #stopInTime(name: string): Promise<boolean> {
    const { stopTimeoutMs, clock } = this.#options;
    const stopping = this.#services.get(name)?.stop() ?? Promise.resolve();
    return withTimeout(stopping, stopTimeoutMs, name, clock).then(
      () => true,
      () => false,
    );
  }

  #watch(): void {
    if (this.#hasStarted) return;
    this.#hasStarted = true;
    for (const [name, service] of this.#services) {
      this.#unregister.push(this.#tallyman.metrics.register("service", name, service));
    }
  }

  #tell(status: ServiceStatus, previous: ServiceState): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(status, previous);
      } catch (error) {
        log.error("A listener of service changes threw.", { error });
      }
    }
  }

  #isStopping(): TallymanError {
    return new TallymanError(
      "SERVICE_WRONG_STATE",
      "All services are being stopped. Start them again later.",
    );
  }
}

/** The error for a name that no service has. */
export function serviceUnknown(name: string, known: Iterable<string>): TallymanError {
  const names = [...known];
  const hint = names.length === 0 ? "There is none at all." : didYouMean(name, names);
  return new TallymanError("SERVICE_UNKNOWN", `There is no service '${name}'. ${hint}`, {
    details: { service: name, known: names },
  });
}
