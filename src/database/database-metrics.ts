import { Counter, ErrorLog, SlidingWindowCounter } from "../monitoring/index.ts";
import { errorCodeOf } from "./sqlstate.ts";

/** What the pool writes down about itself: constant time, no query of its own. */
export class DatabaseMetrics {
  readonly errors = new ErrorLog();
  readonly #queries = new Counter();
  readonly #queryRate: SlidingWindowCounter;
  #isReachable = true;

  constructor(windowSeconds?: number) {
    this.#queryRate = new SlidingWindowCounter(windowSeconds);
  }

  get isReachable(): boolean {
    return this.#isReachable;
  }

  get values(): Readonly<Record<string, number>> {
    return {
      queries_executed: this.#queries.value,
      queries_per_sec: this.#queryRate.getRate(),
      error_count: this.errors.size,
    };
  }

  queried(): void {
    this.#queries.increment();
    this.#queryRate.recordCount();
  }

  connected(): void {
    this.#isReachable = true;
  }

  unreachable(error: unknown): void {
    this.#isReachable = false;
    const details =
      `${errorCodeOf(error) ?? ""} ${error instanceof Error ? error.message : String(error)}`.trim();
    this.errors.add({ code: "CONNECT_FAILED", message: "Failed to get a connection", details });
  }
}
