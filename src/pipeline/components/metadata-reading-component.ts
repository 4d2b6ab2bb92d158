import type { SimulationMetadata } from "../../contracts/index.ts";
import { MetadataNotFoundError, type MetadataReader } from "../../coordination/index.ts";
import { TallymanError } from "../../errors/index.ts";
import { type Clock, logger, systemClock } from "../../runtime/index.ts";

const log = logger("pipeline.metadata-reading");

/** How long to wait for metadata. */
export interface MetadataReadingOptions {
  readonly metadataPollIntervalMs: number;
  readonly metadataMaxPollDurationMs: number;
  /** Default: the machine's clock. */
  readonly clock?: Clock;
}

/**
 * Waits until a run's metadata is indexed, and keeps it. Belongs to one indexer instance.
 *
 * @example
 * ```ts
 * await metadata.loadMetadata("run-1", signal);
 * metadata.getSamplingInterval(); // 10
 * ```
 */
export class MetadataReadingComponent {
  readonly #reader: Pick<MetadataReader, "getMetadata">;
  readonly #options: MetadataReadingOptions;
  #metadata: SimulationMetadata | undefined;

  constructor(reader: Pick<MetadataReader, "getMetadata">, options: MetadataReadingOptions) {
    this.#reader = reader;
    this.#options = options;
  }

  /**
   * Polls the database until the metadata is there.
   *
   * @throws TallymanError METADATA_TIMEOUT when it takes too long, ABORTED
   */
  async loadMetadata(runId: string, signal?: AbortSignal): Promise<void> {
    const { metadataPollIntervalMs, metadataMaxPollDurationMs, clock = systemClock } = this.#options;
    const deadlineMs = clock.monotonicMs() + metadataMaxPollDurationMs;
    while (!(await this.refresh(runId))) {
      if (clock.monotonicMs() >= deadlineMs) throw metadataTimeout(runId, metadataMaxPollDurationMs);
      await clock.sleep(metadataPollIntervalMs, signal);
    }
    log.debug("Metadata available", { runId });
  }

  /** Reads the metadata again, for what the producer adds later, such as its last tick; false when there is none. */
  async refresh(runId: string): Promise<boolean> {
    try {
      this.#metadata = await this.#reader.getMetadata(runId);
      return true;
    } catch (error) {
      if (error instanceof MetadataNotFoundError) return false;
      throw error;
    }
  }

  /** @throws TallymanError INVALID_STATE before {@link loadMetadata} */
  getMetadata(): SimulationMetadata {
    if (this.#metadata) return this.#metadata;
    throw new TallymanError("INVALID_STATE", "No metadata is loaded yet: call loadMetadata() first.");
  }

  /** Every how many ticks the producer samples. @throws TallymanError INVALID_STATE before loadMetadata() */
  getSamplingInterval(): number {
    return this.getMetadata().samplingInterval ?? 1;
  }
}

function metadataTimeout(runId: string, waitedMs: number): TallymanError {
  return new TallymanError(
    "METADATA_TIMEOUT",
    `The metadata of run ${runId} was not indexed within ${waitedMs} ms. Does a MetadataIndexer run for it?`,
    { details: { runId, waitedMs } },
  );
}
