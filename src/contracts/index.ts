/**
 * Contracts: what travels through topics and lies in batch files, generated from `proto/`.
 *
 * Field numbers are never reused and fields never renumbered, so files and messages written by an
 * earlier version stay readable. 64-bit integers are bigint here; slices turn them into numbers at
 * their edge.
 */
export { type DeadLetterMessage, DeadLetterMessageSchema } from "./generated/tallyman/v1/dead_letter_pb.ts";
export {
  type EnvironmentConfig,
  EnvironmentConfigSchema,
  type SimulationMetadata,
  SimulationMetadataSchema,
} from "./generated/tallyman/v1/metadata_pb.ts";
export {
  type BatchInfo,
  BatchInfoSchema,
  type MetadataInfo,
  MetadataInfoSchema,
} from "./generated/tallyman/v1/notification_pb.ts";
export {
  type Cell,
  CellSchema,
  CellState,
  type Organism,
  OrganismSchema,
  type TickData,
  type TickDataBatch,
  TickDataBatchSchema,
  TickDataSchema,
} from "./generated/tallyman/v1/tick_data_pb.ts";
export { messageToJson } from "./message-to-json.ts";
