import type { Service } from "../../runtime/index.ts";
import type { BoundResources, Ports } from "./port.ts";
import { ServiceRegistry, type ServiceType } from "./service-registry.ts";

/** The shape that the constructors of pipeline services share. */
type ServiceClass<P extends Ports> = new (
  name: string,
  resources: BoundResources<P>,
  // biome-ignore lint/suspicious/noExplicitAny: each class checks its own options
  options: any,
) => Service;

/**
 * A service type made from a class whose constructor takes name, resources and options.
 *
 * @example
 * ```ts
 * services.registerServiceType("Auditor", serviceType(Auditor, { storage: port("storage-read") }));
 * ```
 */
export function serviceType<P extends Ports>(serviceClass: ServiceClass<P>, ports: P): ServiceType<P> {
  return { ports, create: ({ name, resources, options }) => new serviceClass(name, resources, options) };
}

/** A new registry with the service classes that come with Tallyman: this table. */
export function builtInServices(): ServiceRegistry {
  return new ServiceRegistry();
}
