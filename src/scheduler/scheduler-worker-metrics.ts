import { Counter, ErrorLog, latencyMetrics, SlidingWindowPercentiles } from "../monitoring/index.ts";
import type { Fired } from "./sql/fire.ts";

/** What one scheduler worker counts. */
export class SchedulerWorkerMetrics {
  readonly errors = new ErrorLog();
  readonly #fired = new Counter();
  readonly #missed = new Counter();
  readonly #overlapped = new Counter();
  readonly #parked = new Counter();
  readonly #stale = new Counter();
  readonly #lag = new SlidingWindowPercentiles();

  fired({ fired, missed, overlapped, advanced }: Fired, tried: number): void {
    this.#fired.increment(fired);
    this.#missed.increment(missed);
    this.#overlapped.increment(overlapped);
    this.#stale.increment(tried - advanced);
  }

  /** How long after its time a job was fired. */
  lagged(ms: number): void {
    this.#lag.record(ms);
  }

  parked(jobId: number, error: unknown): void {
    this.#parked.increment();
    this.#failed(
      "FIRE_JOB_FAILED",
      "A job could not be fired and was parked",
      `Job ${jobId}, Error: ${String(error)}`,
    );
  }

  turnFailed(error: unknown): void {
    this.#failed("SCAN_JOBS_FAILED", "Due jobs could not be read or fired", `Error: ${String(error)}`);
  }

  heartbeatFailed(error: unknown): void {
    this.#failed("HEARTBEAT_FAILED", "A heartbeat was not answered", `Error: ${String(error)}`);
  }

  snapshot(): Readonly<Record<string, number>> {
    return {
      jobs_fired: this.#fired.value,
      jobs_missed: this.#missed.value,
      jobs_overlapped: this.#overlapped.value,
      jobs_parked: this.#parked.value,
      fires_stale: this.#stale.value,
      error_count: this.errors.size,
      ...latencyMetrics("fire_lag", this.#lag),
    };
  }

  #failed(code: string, message: string, details: string): void {
    this.errors.add({ code, message, details });
  }
}
