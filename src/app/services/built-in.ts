import { BatchInfoSchema, MetadataInfoSchema } from "../../contracts/index.ts";
import {
  type BatchIndexerResources,
  DummyIndexer,
  EnvironmentIndexer,
  MetadataIndexer,
  MetadataPersistenceService,
  type MetadataQueue,
  OrganismIndexer,
  PersistenceService,
  SimulationEngine,
  StatisticsIndexer,
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
    .registerServiceType("PersistenceService", {
      ports: {
        queue: queuePort<TickQueue>("queue-in", "TickQueue"),
        storage: port("storage-write"),
        topic: optionalPort(topicPort("topic-write", BatchInfoSchema)),
        dlq: optionalPort(port("dlq")),
      },
      create: ({ name, resources: { dlq, ...resources }, options }) =>
        new PersistenceService(name, { ...resources, deadLetters: dlq?.writer }, options),
    })
    .registerServiceType("MetadataPersistenceService", {
      ports: {
        queue: queuePort<MetadataQueue>("queue-in", "MetadataQueue"),
        storage: port("storage-write"),
        topic: optionalPort(topicPort("topic-write", MetadataInfoSchema)),
      },
      // It takes the metadata of every run, so the run that all services inherit is not for it.
      create: ({ name, resources, options: { runId: _, ...options } }) =>
        new MetadataPersistenceService(name, resources, options),
    })
    .registerServiceType("MetadataIndexer", {
      ports: {
        storage: port("storage-read"),
        topic: topicPort("topic-read", MetadataInfoSchema),
        metadata: optionalPort(port("db-meta-write")),
      },
      create: ({ name, resources, options, tallyman: { database } }) =>
        new MetadataIndexer(name, { ...resources, database }, options),
    })
    .registerServiceType("DummyIndexer", indexerType(DummyIndexer))
    .registerServiceType("EnvironmentIndexer", indexerType(EnvironmentIndexer))
    .registerServiceType("OrganismIndexer", indexerType(OrganismIndexer))
    .registerServiceType("StatisticsIndexer", indexerType(StatisticsIndexer));
}

const indexerPorts = {
  storage: port("storage-read"),
  topic: optionalPort(topicPort("topic-read", BatchInfoSchema)),
  metadata: optionalPort(port("db-meta-read")),
  coordinator: optionalPort(port("db-coordinator")),
  idempotency: optionalPort(port("db-idempotency")),
  retryTracker: optionalPort(port("retry-tracker")),
  dlq: optionalPort(port("dlq")),
};

/**
 * A service type made from a batch indexer. All its ports but storage may be left unbound: what a component
 * needs is then made on the configured database.
 *
 * @example
 * ```ts
 * const services = builtInServices().registerServiceType("TickCounter", indexerType(TickCounter));
 * ```
 */
export function indexerType(
  // biome-ignore lint/suspicious/noExplicitAny: each class checks its own options
  indexerClass: new (name: string, resources: BatchIndexerResources, options: any) => Service,
): ServiceType<typeof indexerPorts> {
  return {
    ports: indexerPorts,
    create: ({ name, resources: { dlq, ...resources }, options, tallyman: { database } }) =>
      new indexerClass(name, { ...resources, database, deadLetters: dlq }, options),
  };
}
