import { type OverviewSample, readOverview } from "../api/index.ts";
import type { Tallyman } from "../app/index.ts";
import { logger } from "../runtime/index.ts";

const log = logger("server.overview");

const intervalMs = 10_000;
const samplesMax = 360;

/** Keeps the last hour of a few figures, for the dashboard's small charts. */
export class OverviewSampler {
  readonly #tallyman: Tallyman;
  readonly #samples: OverviewSample[] = [];
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;

  constructor(tallyman: Tallyman) {
    this.#tallyman = tallyman;
  }

  /** The oldest first. */
  get samples(): readonly OverviewSample[] {
    return this.#samples;
  }

  start(): void {
    const look = () => {
      this.#looking ??= this.#look().finally(() => {
        this.#looking = undefined;
      });
    };
    this.#timer = setInterval(look, intervalMs).unref();
    look();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
  }

  async #look(): Promise<void> {
    try {
      const { commands, pipeline } = await readOverview(this.#tallyman);
      const { completedPerSecond, failedPerSecond, ready, waiting, inProgress, inTroubleshooting } = commands;
      const backlog = ready + waiting + inProgress;
      this.#samples.push({
        at: new Date(),
        completedPerSecond,
        failedPerSecond,
        backlog,
        inTroubleshooting,
        lag: pipeline.lag,
      });
      if (this.#samples.length > samplesMax) this.#samples.shift();
    } catch (error) {
      log.debug("Can't sample the overview now", { reason: String(error) });
    }
  }
}
