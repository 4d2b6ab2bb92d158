/**
 * Pipeline: from batch files to tables.
 *
 * So far the parts that an indexer is made of: coordination with other instances and the search for
 * what is missing. Components belong to one indexer instance and are not shared; what they talk to
 * (ledger, storage) is.
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
