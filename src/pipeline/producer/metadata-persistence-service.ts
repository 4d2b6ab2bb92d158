import { create } from "@bufbuild/protobuf";
import {
  type MetadataInfo,
  MetadataInfoSchema,
  type SimulationMetadata,
  SimulationMetadataSchema,
} from "../../contracts/index.ts";
import { Counter, TimedOperation } from "../../monitoring/index.ts";
import { crashPoint, type GivenOptions, resolveOptions, wholeNumber } from "../../runtime/index.ts";
import { type BatchStorage, type MessageFile, metadataKey } from "../../storage/index.ts";
import type { Announcement } from "./announcer.ts";
import {
  isStorageTrouble,
  QueueConsumer,
  type QueueConsumerResources,
  type RetrySettings,
  retryDefaults,
} from "./queue-consumer.ts";
import type { QueuedBatch } from "./queued-batch.ts";

/** What a metadata persistence service works with. */
export interface MetadataPersistenceResources
  extends QueueConsumerResources<SimulationMetadata, MetadataInfo> {
  readonly storage: Pick<BatchStorage, "writeMessage">;
}

/** Settings of a metadata persistence service. */
export interface MetadataPersistenceOptions extends RetrySettings {}

/**
 * Writes what producers say about their runs and announces it. Metadata that could not be written stays in the
 * queue while the service ends in ERROR; an announcement that fails is repeated.
 *
 * @example
 * ```ts
 * const topic = await topics.writer(MetadataInfoSchema, { topic: "metadata-topic" });
 * const resources = { queue: metadataQueue, storage, topic };
 * await using service = new MetadataPersistenceService("metadata-persistence", resources);
 * await service.start();
 * ```
 */
export class MetadataPersistenceService extends QueueConsumer<SimulationMetadata, MetadataInfo> {
  readonly #storage: Pick<BatchStorage, "writeMessage">;
  readonly #written = new Counter();
  readonly #write = new TimedOperation({
    code: "WRITE_MESSAGE_FAILED",
    message: "Failed to write metadata",
    errors: this.errors,
  });

  /** @throws TallymanError INVALID_OPTION */
  constructor(
    name: string,
    resources: MetadataPersistenceResources,
    options: GivenOptions<MetadataPersistenceOptions> = {},
  ) {
    const retries = resolveOptions<MetadataPersistenceOptions>(retryDefaults, options, {
      maxRetries: wholeNumber({ min: 0 }),
    });
    super(name, resources, { take: { recordsMax: 1, batchTimeoutMs: 0 }, retries });
    this.#storage = resources.storage;
  }

  override getMetrics(): Readonly<Record<string, number>> {
    return {
      ...super.getMetrics(),
      metadata_written: this.#written.value,
      write_errors: this.#write.failures.value,
    };
  }

  protected override async persist(
    batch: QueuedBatch<SimulationMetadata>,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    for (const metadata of batch.records) {
      const { simulationRunId: runId } = metadata;
      const file = await this.retrying(() => this.#writeFile(metadata), signal, isStorageTrouble);
      crashPoint("metadata-persistence.after-write");
      batch.settle([metadata]);
      this.#written.increment();
      await this.announcer.announce(announcementOf(runId, file));
    }
  }

  #writeFile(metadata: SimulationMetadata): Promise<MessageFile> {
    const { simulationRunId: runId } = metadata;
    return this.#write.run(`Run: ${runId}`, () =>
      this.#storage.writeMessage(metadataKey(runId), SimulationMetadataSchema, metadata),
    );
  }
}

/** The checksum is part of the key: metadata that has changed is announced again, the same one is not. */
function announcementOf(runId: string, { key, crc, writtenAtMs }: MessageFile): Announcement<MetadataInfo> {
  const message = create(MetadataInfoSchema, {
    simulationRunId: runId,
    storageKey: key,
    writtenAtMs: BigInt(Math.round(writtenAtMs)),
  });
  return { runId, message, key: `${key}:${crc}` };
}
