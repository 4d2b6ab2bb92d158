import { TallymanError, toTallymanError } from "../errors/index.ts";
import type { Monitorable } from "./monitorable.ts";
import type { OperationalError } from "./operational-error.ts";

/** What a registered component is: a service, a resource, or one service's wrapper around a resource. */
export type ComponentKind = "service" | "resource" | "wrapper";

/** What a component told about itself at one moment. */
export interface ComponentSnapshot {
  readonly kind: ComponentKind;
  readonly name: string;
  readonly healthy: boolean;
  readonly metrics: Readonly<Record<string, number>>;
  readonly errors: readonly OperationalError[];
}

interface Registration {
  readonly kind: ComponentKind;
  readonly name: string;
  readonly monitorable: Monitorable;
}

/**
 * All components of one process that can be monitored. The composition root owns one.
 *
 * @example
 * ```ts
 * const registry = new MetricsRegistry();
 * const unregister = registry.register("service", "dummy-indexer", indexer);
 * registry.collect(); // [{ kind: "service", name: "dummy-indexer", healthy: true, metrics: { … }, errors: [] }]
 * unregister();
 * ```
 */
export class MetricsRegistry {
  readonly #registrations = new Map<string, Registration>();

  /**
   * Adds a component; the returned function takes it out again and may be called twice.
   *
   * @param name the component's configured name. It becomes a label, so it must come from a small fixed set:
   * never a run id, command id or file name.
   * @throws TallymanError INVALID_STATE when a component of this kind and name is registered
   */
  register(kind: ComponentKind, name: string, monitorable: Monitorable): () => void {
    const key = `${kind} ${name}`;
    if (this.#registrations.has(key)) {
      throw new TallymanError(
        "INVALID_STATE",
        `A ${kind} named '${name}' is monitored already. Give each component its own name.`,
        { details: { kind, name } },
      );
    }
    const registration = { kind, name, monitorable };
    this.#registrations.set(key, registration);
    return () => {
      if (this.#registrations.get(key) === registration) this.#registrations.delete(key);
    };
  }

  /** Asks every component, in the order of registration. One that throws is reported as unhealthy. */
  collect(): readonly ComponentSnapshot[] {
    return Array.from(this.#registrations.values(), snapshot);
  }
}

function snapshot({ kind, name, monitorable }: Registration): ComponentSnapshot {
  try {
    return {
      kind,
      name,
      healthy: monitorable.isHealthy(),
      metrics: monitorable.getMetrics(),
      errors: monitorable.getErrors(),
    };
  } catch (error) {
    return { kind, name, healthy: false, metrics: {}, errors: [collectFailed(error)] };
  }
}

function collectFailed(error: unknown): OperationalError {
  return {
    timestamp: new Date(),
    code: "COLLECT_FAILED",
    message: "Failed to read the component's metrics",
    details: `Error: ${toTallymanError(error).message}`,
  };
}
