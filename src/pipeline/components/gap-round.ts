import type { BatchCoordinatorReady, GapInfo } from "../../coordination/index.ts";

/**
 * Goes round the gaps of one status, a few per turn, in tick order: those that stay open must not keep the ones
 * behind them from being looked at.
 */
export class GapRound {
  readonly #coordinator: Pick<BatchCoordinatorReady, "listGaps">;
  readonly #status: GapInfo["status"];
  readonly #gapsPerTurnMax: number;
  /** Where the last turn ended; undefined: begin at the lowest tick. */
  #after: number | undefined;

  constructor(
    coordinator: Pick<BatchCoordinatorReady, "listGaps">,
    status: GapInfo["status"],
    gapsPerTurnMax: number,
  ) {
    this.#coordinator = coordinator;
    this.#status = status;
    this.#gapsPerTurnMax = gapsPerTurnMax;
  }

  /** The gaps of the next turn; none when a round has ended just there. */
  async next(): Promise<readonly GapInfo[]> {
    const gaps = await this.#coordinator.listGaps(this.#gapsPerTurnMax, this.#status, this.#after);
    this.#after = gaps.length < this.#gapsPerTurnMax ? undefined : gaps.at(-1)?.gapStartTick;
    return gaps;
  }
}
