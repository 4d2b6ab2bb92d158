import { SimulationMetadataSchema, type TickData } from "../../contracts/index.ts";
import { isTallymanError } from "../../errors/index.ts";
import { metadataKey } from "../../storage/index.ts";
import { BatchIndexer } from "../indexer/batch-indexer.ts";
import type { ComponentType } from "../indexer/batch-indexer-components.ts";
import type { FlushContext } from "../indexer/flusher.ts";
import { mergeTickStatistics } from "./sql/tick-statistics.ts";

/**
 * Writes population, births, deaths and energy of every tick to the run's `tick_statistics`.
 *
 * An indexer without a ledger: it is safe by idempotent upserts alone, since a row depends on its tick
 * and on nothing else. What that gives up: it sees what is announced and no more, and its gaps are not
 * known.
 */
export class StatisticsIndexer extends BatchIndexer {
  protected override readonly tables: readonly string[] = ["tick_statistics"];
  #samplingInterval = 1;

  protected override getRequiredComponents(): ReadonlySet<ComponentType> {
    return new Set<ComponentType>(["BUFFERING"]);
  }

  protected override async prepareSchema(runId: string): Promise<void> {
    try {
      const metadata = await this.storage.readMessage(metadataKey(runId), SimulationMetadataSchema);
      this.#samplingInterval = metadata.samplingInterval ?? 1;
    } catch (error) {
      if (!isTallymanError(error, "STORAGE_FILE_NOT_FOUND")) throw error;
    }
  }

  protected override async flushTicks(ticks: readonly TickData[], { tx }: FlushContext): Promise<void> {
    await mergeTickStatistics(tx, ticks, { samplingInterval: this.#samplingInterval });
  }
}
