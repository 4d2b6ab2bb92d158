import type { TickData } from "../../contracts/index.ts";
import { BatchIndexer } from "../indexer/batch-indexer.ts";
import type { ComponentType } from "../indexer/batch-indexer-components.ts";
import type { FlushContext } from "../indexer/flusher.ts";
import { completeIndexer } from "./complete-indexer.ts";
import { copyOrganismData, mergeOrganismData } from "./sql/organism-data.ts";
import { mergeOrganisms } from "./sql/organisms.ts";

/**
 * Writes who lived to the run's `organisms`, and where and how they were at every tick to
 * `organism_data`.
 */
export class OrganismIndexer extends BatchIndexer {
  protected override readonly tables: readonly string[] = ["organisms", "organism_data"];

  protected override getRequiredComponents(): ReadonlySet<ComponentType> {
    return completeIndexer;
  }

  protected override async flushTicks(
    ticks: readonly TickData[],
    { tx, mayExist }: FlushContext,
  ): Promise<void> {
    await (mayExist ? mergeOrganismData : copyOrganismData)(tx, ticks);
    await mergeOrganisms(tx, ticks);
  }
}
