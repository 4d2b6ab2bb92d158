/**
 * Pipeline: from batch files to tables.
 *
 * So far the parts that an indexer is made of: coordination with other instances and the search for
 * what is missing. Components belong to one indexer instance and are not shared; what they talk to
 * (ledger, storage) is.
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
export { GapDetectionComponent, type GapDetectionOptions } from "./components/gap-detection-component.ts";
export { copyEnvironmentData, mergeEnvironmentData } from "./indexers/sql/environment-data.ts";
export { copyOrganismData, mergeOrganismData } from "./indexers/sql/organism-data.ts";
export { mergeOrganisms } from "./indexers/sql/organisms.ts";
export { mergeTickStatistics, type StatisticsOptions } from "./indexers/sql/tick-statistics.ts";
export { type IndexedRange, type IndexedTicks, indexedTicks } from "./queries/sql/indexed-ticks.ts";
export {
  type OrganismHistory,
  type OrganismLifeOptions,
  organismLife,
  type PathPoint,
} from "./queries/sql/organism-life.ts";
export {
  type StatisticsBucket,
  type StatisticsRangeOptions,
  statisticsOverRange,
} from "./queries/sql/statistics-over-range.ts";
export { type World, type WorldCell, type WorldOptions, worldAtTick } from "./queries/sql/world-at-tick.ts";
export { decodeTick } from "./ticks/decode-tick.ts";
export { PackedTick, type PackedTickParts } from "./ticks/packed-tick.ts";
export { readTicks } from "./ticks/read-ticks.ts";
