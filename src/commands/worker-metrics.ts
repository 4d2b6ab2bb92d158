import { Counter, ErrorLog, latencyMetrics, SlidingWindowPercentiles } from "../monitoring/index.ts";
import { textOf } from "./failure.ts";
import type { ClaimedRow } from "./sql/claim.ts";
import type { Outcome } from "./sql/settle.ts";

/** Weight of the newest handler time in the running average. */
const newestWeight = 0.05;

/** What one worker counts. */
export class WorkerMetrics {
  readonly received = new Counter();
  readonly errors = new ErrorLog();
  readonly #completed = new Counter();
  readonly #failed = new Counter();
  readonly #retried = new Counter();
  readonly #troubled = new Counter();
  readonly #released = new Counter();
  readonly #stale = new Counter();
  readonly #latency = new SlidingWindowPercentiles();
  #handlerMs: number | undefined;

  /** Running average of a handler's time; undefined before the first. */
  get handlerMs(): number | undefined {
    return this.#handlerMs;
  }

  ran(ms: number): void {
    this.#handlerMs =
      this.#handlerMs === undefined ? ms : this.#handlerMs + newestWeight * (ms - this.#handlerMs);
    this.#latency.record(ms);
  }

  failed({ commandType, commandId }: ClaimedRow, error: unknown): void {
    this.errors.add({
      code: "HANDLER_FAILED",
      message: "A command's handler failed",
      details: `${commandType} ${commandId}, Error: ${textOf(error)}`,
    });
  }

  settled(outcome: Outcome, counts: boolean): void {
    (counts ? this.#counterOf(outcome) : this.#stale).increment();
  }

  snapshot(): Readonly<Record<string, number>> {
    return {
      commands_received: this.received.value,
      commands_completed: this.#completed.value,
      commands_failed: this.#failed.value,
      commands_retried: this.#retried.value,
      commands_troubleshooting: this.#troubled.value,
      commands_released: this.#released.value,
      commands_stale: this.#stale.value,
      error_count: this.errors.size,
      ...latencyMetrics("handler_latency", this.#latency),
    };
  }

  #counterOf(outcome: Outcome): Counter {
    switch (outcome) {
      case "COMPLETED":
        return this.#completed;
      case "RETRY":
        return this.#retried;
      case "IN_TROUBLESHOOTING_QUEUE":
        return this.#troubled;
      case "RELEASED":
        return this.#released;
      default:
        return this.#failed;
    }
  }
}
