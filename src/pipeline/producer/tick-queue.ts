import type { TickData } from "../../contracts/index.ts";
import { type Clock, type GivenOptions, systemClock } from "../../runtime/index.ts";
import { RecordQueue, type RecordQueueOptions } from "./record-queue.ts";

/** Memory of a tick's parts in bytes, as measured by `bench/simulation.ts`. */
const tickBytes = 400;
const cellBytes = 96;
const organismBytes = 200;

/**
 * The bounded queue between simulation engines and persistence services; see {@link RecordQueue}.
 *
 * @example
 * ```ts
 * const queue = new TickQueue({ bytesMax: 32 * 1024 * 1024 });
 * await queue.offer(tick, { samplingInterval: 10, signal });
 * ```
 */
export class TickQueue extends RecordQueue<TickData> {
  constructor(options: GivenOptions<RecordQueueOptions> = {}, clock: Clock = systemClock) {
    super(
      {
        runIdOf: ({ simulationRunId }) => simulationRunId,
        sequenceOf: ({ tickNumber }) => Number(tickNumber),
        bytesOf: ({ cells, organisms }) =>
          tickBytes + cells.length * cellBytes + organisms.length * organismBytes,
      },
      options,
      clock,
    );
  }
}
