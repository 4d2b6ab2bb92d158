import {
  Counter,
  ErrorLog,
  latencyMetrics,
  SlidingWindowCounter,
  TimedOperation,
} from "../monitoring/index.ts";
import type { UndecodedMessage } from "./received-message.ts";

/** What a reader tells about itself. */
export class ReaderMetrics {
  readonly errors = new ErrorLog();
  readonly claim: TimedOperation;
  readonly ack: TimedOperation;
  readonly acknowledged = new Counter();
  readonly handedBack = new Counter();
  readonly deadLettered = new Counter();
  readonly stale = new Counter();
  readonly #received = new Counter();
  readonly #redelivered = new Counter();
  readonly #emptyPolls = new Counter();
  readonly #rate: SlidingWindowCounter;

  /** @param windowSeconds of rates and percentiles; 5 by default */
  constructor(windowSeconds: number | undefined) {
    const { errors } = this;
    const timed = (code: string, message: string) =>
      new TimedOperation({ code, message, errors, windowSeconds });
    this.claim = timed("TOPIC_CLAIM_FAILED", "Failed to claim messages");
    this.ack = timed("TOPIC_ACK_FAILED", "Failed to acknowledge messages");
    this.#rate = new SlidingWindowCounter(windowSeconds);
  }

  /** Counts what a poll handed out. */
  received(messages: readonly UndecodedMessage[]): void {
    if (messages.length === 0) this.#emptyPolls.increment();
    this.#received.increment(messages.length);
    this.#rate.recordCount(messages.length);
    this.#redelivered.increment(messages.filter(({ deliveries }) => deliveries > 1).length);
  }

  values(): Readonly<Record<string, number>> {
    return {
      messages_received: this.#received.value,
      messages_received_per_sec: this.#rate.getRate(),
      messages_redelivered: this.#redelivered.value,
      messages_acknowledged: this.acknowledged.value,
      messages_handed_back: this.handedBack.value,
      messages_dead_lettered: this.deadLettered.value,
      stale_messages: this.stale.value,
      empty_polls: this.#emptyPolls.value,
      claim_errors: this.claim.failures.value,
      ack_errors: this.ack.failures.value,
      error_count: this.errors.size,
      ...latencyMetrics("claim_messages_latency", this.claim.latency),
      ...latencyMetrics("ack_latency", this.ack.latency),
    };
  }
}
