import type { SimulationMetadata } from "../../contracts/index.ts";
import { type Clock, systemClock } from "../../runtime/index.ts";
import { RecordQueue } from "./record-queue.ts";

/** Runs whose metadata may wait; each takes next to nothing. */
const metadataMax = 1_000;
const metadataBytes = 1_000;

/**
 * The queue between producers and the {@link MetadataPersistenceService}. Metadata has no sequence number: what
 * is offered again is written again.
 */
export class MetadataQueue extends RecordQueue<SimulationMetadata> {
  constructor(clock: Clock = systemClock) {
    super(
      {
        runIdOf: ({ simulationRunId }) => simulationRunId,
        sequenceOf: () => Number.NaN,
        bytesOf: () => metadataBytes,
      },
      { recordsMax: metadataMax },
      clock,
    );
  }
}
