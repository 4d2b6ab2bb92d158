import { type TickData, TickDataSchema } from "../../contracts/index.ts";
import type { GivenOptions } from "../../runtime/index.ts";
import { BatchPersistence, type PersistenceOptions, type PersistenceResources } from "./batch-persistence.ts";
import { tickFault } from "./record-faults.ts";
import { protobufFormat } from "./record-format.ts";

/**
 * Writes queued ticks as batch files and announces them on a topic. Any number may compete on one queue: their
 * files never overlap, and each holds every sampled tick between its first and its last.
 *
 * A file is announced after it is written, never before. A write that fails is repeated; when it goes on
 * failing, the ticks go to the dead-letter topic, or, without one, stay in the queue while the service ends in
 * ERROR. An announcement that fails is repeated for as long as the service runs; if the process dies first, an
 * indexer's sweep finds the file. Ticks that no file can hold (another run's, off the sampling grid, with
 * invalid cells) go to the dead-letter topic, or, without one, are logged as errors and dropped; a number that
 * was written is not written again.
 *
 * @example
 * ```ts
 * const topic = await topics.writer(BatchInfoSchema, { topic: "batch-topic" });
 * await using service = new PersistenceService("persistence-1", { queue, storage, topic }, { maxBatchSize: 500 });
 * await service.start();
 * ```
 */
export class PersistenceService extends BatchPersistence<TickData> {
  /** @throws TallymanError INVALID_OPTION */
  constructor(
    name: string,
    resources: PersistenceResources<TickData>,
    options: GivenOptions<PersistenceOptions> = {},
  ) {
    const format = protobufFormat(TickDataSchema, tickFault);
    super(name, resources, { format, sequenceOf: ({ tickNumber }) => Number(tickNumber) }, options);
  }
}
