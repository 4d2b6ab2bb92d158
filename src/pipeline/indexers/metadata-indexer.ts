import {
  type MetadataInfo,
  type SimulationMetadata,
  SimulationMetadataSchema,
} from "../../contracts/index.ts";
import { MetadataWriter } from "../../coordination/index.ts";
import { isTallymanError, TallymanError } from "../../errors/index.ts";
import { Counter } from "../../monitoring/index.ts";
import { type GivenOptions, logger, type OptionDefaults, resolveOptions } from "../../runtime/index.ts";
import { metadataKey } from "../../storage/index.ts";
import type { TopicMessage, TopicReader } from "../../topics/index.ts";
import { ignoreStale } from "../indexer/admission.ts";
import { orDeadLetter } from "../indexer/announcement.ts";
import { Indexer, type IndexerResources, type RunScoped } from "../indexer/indexer.ts";

/** What a metadata indexer works with. */
export interface MetadataIndexerResources extends IndexerResources {
  /** Announcements of metadata. */
  readonly topic: TopicReader<MetadataInfo>;
  /** Default: one on `database`. */
  readonly metadata?: MetadataWriter | undefined;
}

/** Settings of a metadata indexer. */
export interface MetadataIndexerOptions {
  /** The run to index. Default: the first one that begins after the service. */
  readonly runId?: string | undefined;
  /** How often to look for the run. Default 1 s. */
  readonly pollIntervalMs: number;
  /** How long to wait for the run. Default 5 min. */
  readonly maxPollDurationMs: number;
  /** How long to wait for an announcement before storage is asked. Default 30 s. */
  readonly topicPollTimeoutMs: number;
}

const defaults: OptionDefaults<MetadataIndexerOptions> = {
  runId: undefined,
  pollIntervalMs: 1_000,
  maxPollDurationMs: 300_000,
  topicPollTimeoutMs: 30_000,
};

/**
 * Writes a run's metadata to the run's `metadata` table, where the other indexers wait for it. It stays
 * and takes in what the producer adds later, such as the run's last tick. An announcement that got lost
 * does not matter: while none comes it looks into storage itself.
 *
 * @example
 * ```ts
 * const topic = await topics.reader(MetadataInfoSchema, { topic: "metadata-topic", group: "metadata-indexer" });
 * await using indexer = new MetadataIndexer("metadata-indexer", { storage, database, topic });
 * await indexer.start();
 * ```
 */
export class MetadataIndexer extends Indexer {
  readonly #topic: TopicReader<MetadataInfo>;
  readonly #writer: MetadataWriter;
  readonly #options: Readonly<MetadataIndexerOptions>;
  readonly #indexed = new Counter();
  /** The run's last tick is what a producer adds; behind it nothing is expected any more. */
  #isEndKnown = false;

  constructor(
    name: string,
    resources: MetadataIndexerResources,
    options: GivenOptions<MetadataIndexerOptions> = {},
  ) {
    const resolved = resolveOptions<MetadataIndexerOptions>(defaults, options);
    super(name, resources, resolved);
    this.#options = resolved;
    this.#topic = resources.topic;
    this.#writer = resources.metadata ?? new MetadataWriter(resources.database);
  }

  override getMetrics(): Readonly<Record<string, number>> {
    return { ...super.getMetrics(), metadata_indexed: this.#indexed.value };
  }

  protected override runScopedResources(): readonly RunScoped[] {
    return [this.#topic, this.#writer];
  }

  protected override async indexRun(runId: string, signal: AbortSignal): Promise<void> {
    const message = await this.#topic.poll(this.#options.topicPollTimeoutMs, signal);
    if (message) await this.#indexAnnounced(runId, message);
    else if (!this.#isEndKnown) await this.#indexUnannounced(runId);
  }

  async #indexAnnounced(runId: string, message: TopicMessage<MetadataInfo>): Promise<void> {
    await orDeadLetter(this.#topic, message, async () => {
      const metadata = await this.storage.readMessage(announcedKey(message), SimulationMetadataSchema);
      await this.#writeAndAcknowledge(runId, metadata, message);
    });
  }

  async #writeAndAcknowledge(
    runId: string,
    metadata: SimulationMetadata,
    message: TopicMessage<MetadataInfo>,
  ): Promise<void> {
    const isShared = this.#topic.capabilities.transactionalAck;
    await this.database.transaction(async (tx) => {
      await this.#writer.insertMetadata(runId, metadata, { tx });
      if (isShared) await ignoreStale(this.#topic.ack(message, { tx }));
    });
    if (!isShared) await ignoreStale(this.#topic.ack(message));
    this.#wasIndexed(runId, metadata);
  }

  async #indexUnannounced(runId: string): Promise<void> {
    const metadata = await this.#findMetadata(runId);
    const isNews = this.#indexed.value === 0 || metadata?.declaredEndTick !== undefined;
    if (!metadata || !isNews) return;
    await this.#writer.insertMetadata(runId, metadata);
    this.#wasIndexed(runId, metadata);
  }

  /** @throws TallymanError METADATA_TIMEOUT when there never was any */
  async #findMetadata(runId: string): Promise<SimulationMetadata | undefined> {
    const { topicPollTimeoutMs } = this.#options;
    try {
      return await this.storage.readMessage(metadataKey(runId), SimulationMetadataSchema);
    } catch (error) {
      if (!isTallymanError(error, "STORAGE_FILE_NOT_FOUND")) throw error;
      if (this.#indexed.value > 0) return undefined;
      throw new TallymanError(
        "METADATA_TIMEOUT",
        `The metadata of run ${runId} was not announced within ${topicPollTimeoutMs} ms (topicPollTimeoutMs), and storage has none. Does a MetadataPersistenceService run?`,
        { cause: error, details: { runId, waitedMs: topicPollTimeoutMs } },
      );
    }
  }

  #wasIndexed(runId: string, { declaredEndTick }: SimulationMetadata): void {
    this.#indexed.increment();
    this.#isEndKnown ||= declaredEndTick !== undefined;
    logger(this.name).debug("Metadata indexed", { runId });
  }
}

/**
 * What a message announces; a key that leads elsewhere, or to another run, is not believed.
 *
 * @throws TallymanError TOPIC_PAYLOAD_INVALID; STORAGE_KEY_INVALID
 */
function announcedKey({ payload, runId }: TopicMessage<MetadataInfo>): string {
  const { storageKey } = payload;
  if (runId !== undefined && storageKey === metadataKey(runId)) return storageKey;
  const message = `'${storageKey}' is not the key of the metadata of run ${runId}.`;
  throw new TallymanError("STORAGE_KEY_INVALID", message, { details: { key: storageKey } });
}
