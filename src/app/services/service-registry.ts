import type { Service } from "../../runtime/index.ts";
import type { Tallyman } from "../tallyman.ts";
import type { BoundResources, Ports } from "./port.ts";
import { TypeRegistry } from "./type-registry.ts";

/** What a service is made of. */
export interface ServiceContext<P extends Ports = Ports> {
  /** As in the configuration. */
  readonly name: string;
  /** By port; a port that may be left unbound, and was, is not there. */
  readonly resources: BoundResources<P>;
  /** As in the configuration, with the inherited `runId`; not checked yet. */
  readonly options: Readonly<Record<string, unknown>>;
  /** What the process has opened: database, topics, command bus. */
  readonly tallyman: Tallyman;
}

/** A class of services: what it must be given, and how it is made. */
export interface ServiceType<P extends Ports = Ports> {
  readonly ports: P;
  /** Makes the service; does not start it. May throw INVALID_OPTION. */
  create(context: ServiceContext<P>): Service;
}

/**
 * The classes of services that a configuration may name. Open: add your own beside the built-in ones.
 *
 * @example
 * ```ts
 * const services = builtInServices().registerServiceType("Auditor", {
 *   ports: { storage: port("storage-read") },
 *   create: ({ name, resources, options }) => new Auditor(name, resources, options),
 * });
 * const manager = new ServiceManager(tallyman, config, { services });
 * ```
 */
export class ServiceRegistry extends TypeRegistry<ServiceType> {
  constructor() {
    super("service");
  }

  /** @throws TallymanError INVALID_STATE for a name that is taken, INVALID_OPTION for one that is none */
  registerServiceType<P extends Ports>(className: string, type: ServiceType<P>): this {
    this.add(className, type as unknown as ServiceType);
    return this;
  }
}
