import { createRegistry, fromBinary, type JsonValue, toJson } from "@bufbuild/protobuf";
import { SimulationMetadataSchema } from "./generated/tallyman/v1/metadata_pb.ts";
import { BatchInfoSchema, MetadataInfoSchema } from "./generated/tallyman/v1/notification_pb.ts";
import { TickDataBatchSchema, TickDataSchema } from "./generated/tallyman/v1/tick_data_pb.ts";

const known = createRegistry(
  BatchInfoSchema,
  MetadataInfoSchema,
  SimulationMetadataSchema,
  TickDataSchema,
  TickDataBatchSchema,
);

/**
 * A message as JSON, for people to read; undefined when its type is none of ours, or its bytes are damaged.
 *
 * @param messageType full name, such as `tallyman.v1.BatchInfo`
 */
export function messageToJson(messageType: string, bytes: Uint8Array): JsonValue | undefined {
  const schema = known.getMessage(messageType);
  if (!schema) return undefined;
  try {
    return toJson(schema, fromBinary(schema, bytes));
  } catch {
    return undefined;
  }
}
