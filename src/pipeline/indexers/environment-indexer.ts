import type { TickData } from "../../contracts/index.ts";
import { BatchIndexer } from "../indexer/batch-indexer.ts";
import type { ComponentType } from "../indexer/batch-indexer-components.ts";
import type { FlushContext } from "../indexer/flusher.ts";
import { completeIndexer } from "./complete-indexer.ts";
import { copyEnvironmentData, mergeEnvironmentData } from "./sql/environment-data.ts";

/**
 * Writes the cells of every tick to the run's `environment_data`: what the world looked like, tick by tick.
 *
 * @example
 * ```ts
 * const topic = await topics.reader(BatchInfoSchema, { topic: "batch-topic", group: "environment-indexer" });
 * await using indexer = new EnvironmentIndexer("environment", { storage, database, topic }, { runId: "run-1" });
 * await indexer.start();
 * ```
 */
export class EnvironmentIndexer extends BatchIndexer {
  protected override readonly tables: readonly string[] = ["environment_data"];

  protected override getRequiredComponents(): ReadonlySet<ComponentType> {
    return completeIndexer;
  }

  protected override async flushTicks(
    ticks: readonly TickData[],
    { tx, mayExist }: FlushContext,
  ): Promise<void> {
    await (mayExist ? mergeEnvironmentData : copyEnvironmentData)(tx, ticks);
  }
}
