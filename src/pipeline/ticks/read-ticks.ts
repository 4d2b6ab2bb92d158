import { TickDataSchema } from "../../contracts/index.ts";
import type { BatchMessage, BatchReader } from "../../storage/index.ts";
import { decodeTick } from "./decode-tick.ts";
import type { PackedTick } from "./packed-tick.ts";

const tickDecoder = { typeName: TickDataSchema.typeName, decode: decodeTick };

/**
 * The ticks of a batch file, from a position on: as `batch.messages(TickDataSchema, from)`, but several
 * times faster and in less memory, and without fields that this version does not know. A tick keeps
 * nothing of the file alive.
 *
 * @throws CorruptBatchError for a record that is no TickData; TallymanError BATCH_INVALID for a file whose
 * records are of another type
 * @example
 * ```ts
 * await using batch = await storage.openBatch(key);
 * for await (const { position, message } of readTicks(batch, resumeAt)) buffer.add(message, position);
 * ```
 */
export function readTicks(batch: BatchReader, from = 0): AsyncGenerator<BatchMessage<PackedTick>> {
  return batch.decoded(tickDecoder, from);
}
