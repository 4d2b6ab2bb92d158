/**
 * Pipeline: from batch files to tables.
 *
 * So far the parts that an indexer is made of: coordination with other instances and the search for
 * what is missing. Components belong to one indexer instance and are not shared; what they talk to
 * (ledger, storage) is.
 */
export { BatchCoordinationComponent } from "./components/batch-coordination-component.ts";
export { GapDetectionComponent, type GapDetectionOptions } from "./components/gap-detection-component.ts";
