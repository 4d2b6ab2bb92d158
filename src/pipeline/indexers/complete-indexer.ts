import type { ComponentType } from "../indexer/batch-indexer-components.ts";

/** What an indexer is made of that must miss nothing and write nothing twice. */
export const completeIndexer: ReadonlySet<ComponentType> = new Set<ComponentType>([
  "METADATA",
  "COORDINATION",
  "GAP_DETECTION",
  "BUFFERING",
]);
