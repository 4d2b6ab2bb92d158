import { TallymanError } from "../../errors/index.ts";
import type { Monitorable } from "../../monitoring/index.ts";
import { logger } from "../../runtime/index.ts";
import type { Config, ResourceUri } from "../config/index.ts";
import type { Tallyman } from "../tallyman.ts";
import type { Ports } from "./port.ts";
import type { Binding, OpenResource, ResourceRegistry } from "./resource-registry.ts";

const log = logger("services.resources");

/** What resources are opened from. */
export interface OpenResourcesOptions {
  readonly tallyman: Tallyman;
  readonly config: Config;
  readonly types: ResourceRegistry;
  readonly folder: string;
}

/**
 * The resources of one manager: each is opened when the first service needs it, shared by all, and closed
 * at the end. What could not be opened is tried again by whoever asks next.
 */
export class OpenResources implements AsyncDisposable {
  readonly #options: OpenResourcesOptions;
  readonly #open = new Map<string, Promise<OpenResource>>();
  readonly #shared = new Map<string, Promise<AsyncDisposable>>();
  readonly #bound = new Map<string, Promise<unknown>>();
  readonly #unregister: (() => void)[] = [];

  constructor(options: OpenResourcesOptions) {
    this.#options = options;
  }

  /** Opens what the service is bound to, and gives each port its own; asked again, the same. */
  async bind(
    service: string,
    ports: Ports,
    uris: Readonly<Record<string, readonly ResourceUri[]>>,
  ): Promise<Readonly<Record<string, unknown>>> {
    const bound: Record<string, unknown> = {};
    for (const [port, { schema }] of Object.entries(ports)) {
      const uri = uris[port]?.[0];
      if (!uri) continue;
      const { usage, parameters } = uri;
      const binding = { service, port, usage, parameters, ...(schema && { schema }) };
      bound[port] = await once(this.#bound, `${service}.${port}`, () => this.#bind(uri.resource, binding));
    }
    return Object.freeze(bound);
  }

  /** Closes everything, each whatever happens to the others. */
  async close(): Promise<void> {
    for (const unregister of this.#unregister.splice(0)) unregister();
    const opened = [...this.#open.values()];
    const shared = [...this.#shared.values()];
    for (const known of [this.#bound, this.#open, this.#shared]) known.clear();
    await closeAll(opened, (resource) => resource.close?.());
    await closeAll(shared, (each) => each[Symbol.asyncDispose]());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #bind(name: string, binding: Binding): Promise<unknown> {
    const resource = await this.#resource(name);
    const value = await resource.bind(binding);
    const isWatched = value === resource.monitorable || value === this.#options.tallyman.database;
    if (!isWatched) this.#watch("wrapper", `${binding.service}.${binding.port}`, value);
    return value;
  }

  #resource(name: string): Promise<OpenResource> {
    return once(this.#open, name, () => this.#openResource(name));
  }

  async #openResource(name: string): Promise<OpenResource> {
    const { config, types, folder, tallyman } = this.#options;
    const { className = "", options = {} } = config.resources[name] ?? {};
    const type = types.find(className);
    if (!type) throw new TallymanError("CONFIG_INVALID", `resources.${name}: ${types.unknown(className)}`);
    const shared = <T extends AsyncDisposable>(key: string, open: () => Promise<T>) =>
      once(this.#shared, key, open) as Promise<T>;
    const resource = await type.open({ name, options, folder, tallyman, shared });
    this.#watch("resource", name, resource.monitorable);
    return resource;
  }

  #watch(kind: "resource" | "wrapper", name: string, value: unknown): void {
    if (!isMonitorable(value)) return;
    this.#unregister.push(this.#options.tallyman.metrics.register(kind, name, value));
  }
}

/** Remembers what is opening or open; forgets what failed. */
function once<T>(known: Map<string, Promise<T>>, key: string, open: () => Promise<T>): Promise<T> {
  const existing = known.get(key);
  if (existing) return existing;
  const opening = open();
  known.set(key, opening);
  opening.catch(() => known.delete(key));
  return opening;
}

async function closeAll<T>(
  opened: readonly Promise<T>[],
  close: (value: T) => PromiseLike<void> | undefined,
): Promise<void> {
  const closing = opened.map(async (each) => close(await each));
  for (const outcome of await Promise.allSettled(closing)) {
    if (outcome.status === "rejected") log.warn("A resource did not close.", { error: outcome.reason });
  }
}

function isMonitorable(value: unknown): value is Monitorable {
  return typeof (value as Partial<Monitorable> | undefined)?.getMetrics === "function";
}
