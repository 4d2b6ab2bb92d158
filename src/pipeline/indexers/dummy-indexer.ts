import type { TickData } from "../../contracts/index.ts";
import { Counter } from "../../monitoring/index.ts";
import { BatchIndexer } from "../indexer/batch-indexer.ts";
import type { ComponentType } from "../indexer/batch-indexer-components.ts";
import { packTick } from "../ticks/packed-tick.ts";
import { completeIndexer } from "./complete-indexer.ts";

/**
 * Reads everything and writes nothing: counts the ticks, cells and organisms that it observes. For
 * trying out a pipeline, and for watching one.
 */
export class DummyIndexer extends BatchIndexer {
  readonly #cells = new Counter();
  readonly #organisms = new Counter();

  protected override getRequiredComponents(): ReadonlySet<ComponentType> {
    return completeIndexer;
  }

  protected override flushTicks(ticks: readonly TickData[]): void {
    for (const tick of ticks) {
      const { cellCount, organismCount } = packTick(tick);
      this.#cells.increment(cellCount);
      this.#organisms.increment(organismCount);
    }
  }

  override getMetrics(): Readonly<Record<string, number>> {
    return {
      ...super.getMetrics(),
      cells_observed: this.#cells.value,
      organisms_observed: this.#organisms.value,
    };
  }
}
