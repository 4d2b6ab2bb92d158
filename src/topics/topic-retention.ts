import { logger, resolveOptions, Service, WakeUp } from "../runtime/index.ts";
import type { Topics } from "./topic.ts";

const log = logger("topics.retention");
const sweepIntervalMsDefault = 60_000;

/** How often topics are swept. */
export interface TopicRetentionOptions {
  /** Default 60,000. */
  readonly sweepIntervalMs?: number;
}

/**
 * Deletes what the topics' retention no longer keeps, again and again. Any number of processes may run
 * one: steps are bounded, and two sweeps at once only share the work.
 *
 * @example
 * ```ts
 * await using retention = new TopicRetention(tallyman.topics);
 * await retention.start();
 * ```
 */
export class TopicRetention extends Service {
  readonly #topics: Topics;
  readonly #sweepIntervalMs: number;
  readonly #wakeUp = new WakeUp();

  constructor(topics: Topics, given: TopicRetentionOptions = {}) {
    super("topics.retention");
    this.#topics = topics;
    const defaults = { sweepIntervalMs: sweepIntervalMsDefault };
    this.#sweepIntervalMs = resolveOptions<Required<TopicRetentionOptions>>(defaults, given).sweepIntervalMs;
  }

  protected override async runOnce(signal: AbortSignal): Promise<void> {
    try {
      const deleted = await this.#topics.sweepRetention();
      log.debug("Swept", { deleted });
    } catch (error) {
      // An outage is no reason to stop for good: the next sweep does what this one could not.
      log.warn("A sweep failed and is tried again later.", { error });
    }
    await this.#wakeUp.wait(this.#sweepIntervalMs, signal);
  }
}
