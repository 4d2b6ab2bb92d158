/**
 * Pipeline: from batch files to tables, exactly once, with no silent hole.
 *
 * Model. A producer writes ticks as batch files and announces each on a topic. An {@link Indexer} works
 * on one run; a {@link BatchIndexer} reads the run's files and writes their ticks to tables. Instances of
 * one class compete, classes do not affect each other. The topic is for speed, the ledger (see
 * coordination) for truth: what is announced twice, late or never is indexed once all the same.
 *
 *     announced ──┐                                            ┌─ committed: position, ack
 *     in a gap  ──┼─► admission ─► reader ─► buffer ─► flusher ─┼─ lost: another instance has it
 *     left over ──┘   (claim)     (chunks)  (ticks)   (one tx)  └─ failed: tried again, dead-lettered
 *
 * Invariants. Ticks, position and acknowledgement commit in one transaction, fenced by the claim version;
 * the buffer changes only after the commit. A file is acknowledged when its last tick is committed, never
 * before. Memory is bounded: files are read in chunks, the buffer is bounded in bytes.
 *
 * Failure. A killed instance loses its leases; another goes on at the committed position. A sink or
 * storage that is down costs no attempts. A file that can't be indexed is tried again a few times, then
 * dead-lettered, and its neighbours go on. On stop everything buffered is flushed and the rest given back.
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
 * Ticks. {@link readTicks} decodes a batch file into {@link PackedTick}s: numbers in two arrays, from
 * which the writers of the indexed tables encode their rows.
 *
 * Indexed tables. Writers take the flush's transaction and its ticks. `copy…` appends ticks that are
 * indexed for the first time; `merge…` adds what is missing, and may be called with any ticks, in any
 * order, again and again: the tables end up the same. A writer that throws leaves its transaction to be
 * rolled back. Queries take the run's tables, have bounded results and descend indexes.
 */
export { BatchCoordinationComponent } from "./components/batch-coordination-component.ts";
export { type DeadLetterRoom, DlqComponent, type DlqComponentOptions } from "./components/dlq-component.ts";
export { GapDetectionComponent, type GapDetectionOptions } from "./components/gap-detection-component.ts";
export { IdempotencyComponent } from "./components/idempotency-component.ts";
export {
  MetadataReadingComponent,
  type MetadataReadingOptions,
} from "./components/metadata-reading-component.ts";
export {
  type FileStep,
  type Flush,
  TickBufferingComponent,
  type TickBufferingOptions,
} from "./components/tick-buffering-component.ts";
export { DeadLetterQueue, type DeadLetterQueueOptions } from "./dead-letter-queue.ts";
export { BatchIndexer } from "./indexer/batch-indexer.ts";
export type { BatchIndexerResources, ComponentType } from "./indexer/batch-indexer-components.ts";
export type { BatchIndexerOptions } from "./indexer/batch-indexer-options.ts";
export type { FlushContext } from "./indexer/flusher.ts";
export type { FileChunk, IndexedFile } from "./indexer/indexed-file.ts";
export { Indexer, type IndexerResources, type RunScoped } from "./indexer/indexer.ts";
export type { RunDiscoveryOptions } from "./indexer/run-discovery.ts";
export type { IndexerGroup } from "./indexer/sql/indexer-groups.ts";
export { DummyIndexer } from "./indexers/dummy-indexer.ts";
export { EnvironmentIndexer } from "./indexers/environment-indexer.ts";
export {
  MetadataIndexer,
  type MetadataIndexerOptions,
  type MetadataIndexerResources,
} from "./indexers/metadata-indexer.ts";
export { OrganismIndexer } from "./indexers/organism-indexer.ts";
export { copyEnvironmentData, mergeEnvironmentData } from "./indexers/sql/environment-data.ts";
export { copyOrganismData, mergeOrganismData } from "./indexers/sql/organism-data.ts";
export { mergeOrganisms } from "./indexers/sql/organisms.ts";
export { mergeTickStatistics, type StatisticsOptions } from "./indexers/sql/tick-statistics.ts";
export { StatisticsIndexer } from "./indexers/statistics-indexer.ts";
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
export { type IndexedRange, type IndexedTicks, indexedTicks } from "./queries/sql/indexed-ticks.ts";
export { type IndexedTotals, indexedTotals } from "./queries/sql/indexed-totals.ts";
export {
  type OrganismHistory,
  type OrganismLifeOptions,
  organismLife,
  type PathPoint,
} from "./queries/sql/organism-life.ts";
export {
  type OrganismAtTick,
  type OrganismsAtTick,
  type OrganismsOptions,
  organismsAtTick,
} from "./queries/sql/organisms-at-tick.ts";
export {
  type StatisticsBucket,
  type StatisticsRangeOptions,
  statisticsOverRange,
} from "./queries/sql/statistics-over-range.ts";
export {
  type WorldAtTick,
  type WorldCell,
  type WorldOptions,
  worldAtTick,
} from "./queries/sql/world-at-tick.ts";
export { type Redriven, type RedriveScope, redriveFiles } from "./redrive.ts";
export { type ReindexScope, reindex } from "./reindex.ts";
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
export { decodeTick } from "./ticks/decode-tick.ts";
export { PackedTick, type PackedTickParts, packTick } from "./ticks/packed-tick.ts";
export { readTicks } from "./ticks/read-ticks.ts";
