import { type OverviewSample, readOverview } from "../api/index.ts";
import type { Tallyman } from "../app/index.ts";
import { logger } from "../runtime/index.ts";
import { type SystemOverview, systemMetrics } from "./system-metrics.ts";

const log = logger("server.overview");

const intervalMs = 10_000;
const samplesMax = 360;

/** Looks at the whole system again and again: the last hour for the dashboard's small charts, the present for metrics. */
export class OverviewSampler {
  readonly #tallyman: Tallyman;
  readonly #samples: OverviewSample[] = [];
  #metrics: Readonly<Record<string, number>> = {};
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;

  constructor(tallyman: Tallyman) {
    this.#tallyman = tallyman;
  }

  /** The oldest first. */
  get samples(): readonly OverviewSample[] {
    return this.#samples;
  }

  /** Figures of the whole system, at most ten seconds old; none while the database can't be asked. */
  get metrics(): Readonly<Record<string, number>> {
    return this.#metrics;
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
      const [overview, stats] = await Promise.all([
        readOverview(this.#tallyman),
        this.#tallyman.commands.stats(),
      ]);
      this.#metrics = systemMetrics(overview, stats);
      this.#keep(overview);
    } catch (error) {
      this.#metrics = {};
      log.debug("Can't sample the overview now", { reason: String(error) });
    }
  }

  #keep({ commands, pipeline }: SystemOverview): void {
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
  }
}
