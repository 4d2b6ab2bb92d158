import { parseConfigFile } from "../../src/app/config/config-file.ts";
import { resolveConfig } from "../../src/app/config/resolve-config.ts";
import { builtInResources, type Config, ServiceRegistry, type Tallyman } from "../../src/app/index.ts";
import { MetricsRegistry, MonitoredService } from "../../src/monitoring/index.ts";
import { type Deferred, deferred, type ServiceState, WakeUp } from "../../src/runtime/index.ts";

/** The configuration that a file with this text gives. */
export function configOf(text: string): Config {
  const file = parseConfigFile(text, { label: "tallyman.config.yaml", folder: "/project" });
  return resolveConfig({ file, flags: {}, environment: {}, directory: "/project", knownTypes: {} });
}

/** All that a manager without resources of the database asks of a Tallyman. */
export function tallymanWithoutDatabase(): Tallyman {
  return { metrics: new MetricsRegistry() } as unknown as Tallyman;
}

/** A service whose life the test directs; it writes down what happens to it. */
export class Probe extends MonitoredService {
  readonly options: Readonly<Record<string, unknown>>;
  readonly resources: unknown;
  readonly #events: string[];
  readonly #wakeUp = new WakeUp();
  #fault: Error | undefined;
  starting: () => Promise<void> = async () => {};
  flushing: () => Promise<void> = async () => {};

  constructor(
    name: string,
    resources: unknown,
    options: Readonly<Record<string, unknown>>,
    events: string[],
  ) {
    super(name);
    this.resources = resources;
    this.options = options;
    this.#events = events;
  }

  endTurn(): void {
    this.#wakeUp.notify();
  }

  /** Makes the present turn fail. */
  fail(message: string): void {
    this.#fault = new Error(message);
    this.#wakeUp.notify();
  }

  override getMetrics() {
    return { ...super.getMetrics(), ticks_processed: 7 };
  }

  protected override async onStart(): Promise<void> {
    this.#events.push(`${this.name} starts`);
    await this.starting();
  }

  protected override async runOnce(signal: AbortSignal): Promise<void> {
    await this.#wakeUp.wait(Number.POSITIVE_INFINITY, signal);
    const fault = this.#fault;
    this.#fault = undefined;
    if (fault) throw fault;
  }

  protected override async onStop(): Promise<void> {
    this.#events.push(`${this.name} flushes`);
    await this.flushing();
    this.#events.push(`${this.name} flushed`);
  }
}

/** Probes by name, and the types that make them. */
export class ProbeWorld {
  readonly events: string[] = [];
  readonly probes = new Map<string, Probe>();
  readonly resources = builtInResources();
  readonly services = new ServiceRegistry();
  /** Prepares a probe when it is made. */
  prepare: (probe: Probe) => void = () => {};

  constructor() {
    this.services.registerServiceType("Probe", {
      ports: {},
      create: ({ name, resources, options }) => {
        const probe = new Probe(name, resources, options, this.events);
        this.probes.set(name, probe);
        this.prepare(probe);
        return probe;
      },
    });
  }

  probe(name: string): Probe {
    const probe = this.probes.get(name);
    if (!probe) throw new Error(`there is no probe ${name}`);
    return probe;
  }
}

interface Watched {
  status(): readonly { name: string; state: ServiceState; error?: string }[];
  onChange(listener: () => void): () => void;
}

/** Resolves when the service is in this state, with this error when one is given. */
export async function reaches(
  manager: Watched,
  name: string,
  state: ServiceState,
  error?: string,
): Promise<void> {
  const reached: Deferred<void> = deferred();
  const look = () => {
    const service = manager.status().find((each) => each.name === name);
    if (service?.state === state && (error === undefined || service.error === error)) reached.resolve();
  };
  const off = manager.onChange(look);
  look();
  await reached.promise;
  off();
}
