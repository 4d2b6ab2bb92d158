import type { TickData } from "../../contracts/index.ts";
import { Counter } from "../../monitoring/index.ts";
import { BatchIndexer } from "../indexer/batch-indexer.ts";
import type { ComponentType } from "../indexer/batch-indexer-components.ts";

/**
 * Reads everything and writes nothing: counts the ticks, cells and organisms that it observes. For
 * trying out a pipeline, and for watching one.
 */
export class DummyIndexer extends BatchIndexer {
  readonly #cells = new Counter();
  readonly #organisms = new Counter();

  protected override getRequiredComponents(): ReadonlySet<ComponentType> {
    return new Set<ComponentType>(["METADATA", "COORDINATION", "GAP_DETECTION", "BUFFERING"]);
  }

  protected override flushTicks(ticks: readonly TickData[]): void {
    for (const { cells, organisms } of ticks) {
      this.#cells.increment(cells.length);
      this.#organisms.increment(organisms.length);
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
