/**
 * Pipeline: from a producer's records to batch files, and from batch files to tables.
 *
 * Producers. A {@link SimulationEngine} computes a world and offers its sampled ticks to a {@link TickQueue},
 * which holds so many bytes and no more: the engine waits while writers are slow. Any number of
 * {@link PersistenceService}s compete for the queue. Each takes a stretch from its front in one step, writes
 * it as files and announces these:
 *
 * ```
 *   offer ──► waiting ──take──► held ──settle──► (file written, then announced)
 *                ▲               │ └──reject──► (dead letter)
 *                └──put back─────┘
 * ```
 *
 * Invariants. Files of one run never overlap, and a file holds every sampled tick between its first and its
 * last; so the range in its name is the truth that gaps are derived from. A file is announced after it is
 * durable. A tick leaves the queue when it is in a file or in the dead-letter topic, not before.
 *
 * Failure. A service that can't write puts its ticks back and ends in ERROR; another, or the same one
 * restarted, takes them. A topic that is down holds up no writing: announcements are repeated, and those that
 * a crash swallows are found by the indexers' sweep. A process that dies loses its queue; the engine's run is
 * computed again from its seed, and the ticks that no file holds are handed over.
 *
 * Indexers. So far the parts that an indexer is made of: coordination with other instances and the search for
 * what is missing. Components belong to one indexer instance and are not shared; what they talk to
 * (ledger, storage) is.
 */
export { BatchCoordinationComponent } from "./components/batch-coordination-component.ts";
export { GapDetectionComponent, type GapDetectionOptions } from "./components/gap-detection-component.ts";
export {
  BatchPersistence,
  type PersistedKind,
  type PersistenceOptions,
  type PersistenceResources,
} from "./producer/batch-persistence.ts";
export {
  BatchWriter,
  type BatchWriterGiven,
  type BatchWriterOptions,
  type BatchWriterResources,
} from "./producer/batch-writer.ts";
export {
  type MetadataPersistenceOptions,
  type MetadataPersistenceResources,
  MetadataPersistenceService,
} from "./producer/metadata-persistence-service.ts";
export { MetadataQueue } from "./producer/metadata-queue.ts";
export { PersistenceService } from "./producer/persistence-service.ts";
export {
  QueueConsumer,
  type QueueConsumerResources,
  type RetrySettings,
} from "./producer/queue-consumer.ts";
export { QueuedBatch } from "./producer/queued-batch.ts";
export type { RecordFormat } from "./producer/record-format.ts";
export {
  type OfferOptions,
  type RecordFacts,
  RecordQueue,
  type RecordQueueOptions,
  type TakeOptions,
} from "./producer/record-queue.ts";
export { TickQueue } from "./producer/tick-queue.ts";
export type { Genome } from "./simulation/genome.ts";
export { newRunId, runStartOf } from "./simulation/run-id.ts";
export { forgetDeaths, sample } from "./simulation/sample.ts";
export {
  SimulationEngine,
  type SimulationEngineOptions,
  type SimulationEngineResources,
} from "./simulation/simulation-engine.ts";
export { step } from "./simulation/step.ts";
export { type Creature, createWorld, type World, type WorldConfig } from "./simulation/world.ts";
