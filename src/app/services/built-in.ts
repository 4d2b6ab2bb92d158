import { BatchInfoSchema, MetadataInfoSchema } from "../../contracts/index.ts";
import {
  MetadataPersistenceService,
  type MetadataQueue,
  PersistenceService,
  SimulationEngine,
  type TickQueue,
} from "../../pipeline/index.ts";
import type { Service } from "../../runtime/index.ts";
import { type BoundResources, optionalPort, type Ports, port, queuePort, topicPort } from "./port.ts";
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
  return new ServiceRegistry()
    .registerServiceType(
      "SimulationEngine",
      serviceType(SimulationEngine, {
        queue: queuePort<TickQueue>("queue-out", "TickQueue"),
        metadataQueue: optionalPort(queuePort<MetadataQueue>("queue-out", "MetadataQueue")),
        storage: optionalPort(port("storage-read")),
      }),
    )
    .registerServiceType(
      "PersistenceService",
      serviceType(PersistenceService, {
        queue: queuePort<TickQueue>("queue-in", "TickQueue"),
        storage: port("storage-write"),
        topic: optionalPort(topicPort("topic-write", BatchInfoSchema)),
        deadLetters: optionalPort(port("dlq")),
      }),
    )
    .registerServiceType("MetadataPersistenceService", {
      ports: {
        queue: queuePort<MetadataQueue>("queue-in", "MetadataQueue"),
        storage: port("storage-write"),
        topic: optionalPort(topicPort("topic-write", MetadataInfoSchema)),
      },
      // It takes the metadata of every run, so the run that all services inherit is not for it.
      create: ({ name, resources, options: { runId: _, ...options } }) =>
        new MetadataPersistenceService(name, resources, options),
    });
}
