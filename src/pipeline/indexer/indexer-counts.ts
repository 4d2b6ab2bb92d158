import { Counter } from "../../monitoring/index.ts";

/** What a batch indexer counts, over all its starts. */
export class IndexerCounts {
  readonly batches: Counter = new Counter();
  /** Ticks that were read; they are processed when they are flushed. */
  readonly observed: Counter = new Counter();
  readonly ticks: Counter = new Counter();
  readonly deadLettered: Counter = new Counter();
  readonly lost: Counter = new Counter();

  get values(): Readonly<Record<string, number>> {
    return {
      batches_processed: this.batches.value,
      ticks_observed: this.observed.value,
      ticks_processed: this.ticks.value,
      batches_dead_lettered: this.deadLettered.value,
      claims_lost: this.lost.value,
    };
  }
}
