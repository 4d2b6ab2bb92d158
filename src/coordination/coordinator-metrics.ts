import {
  Counter,
  type ErrorLog,
  latencyMetrics,
  type OperationalErrorCode,
  SlidingWindowCounter,
  TimedOperation,
} from "../monitoring/index.ts";

/** What the coordinator counts and times, under the names that its operators know. */
export class CoordinatorMetrics {
  readonly claim: TimedOperation;
  readonly complete: TimedOperation;
  readonly fail: TimedOperation;
  readonly maxTickEnd: TimedOperation;
  readonly recordGap: TimedOperation;
  readonly oldestGap: TimedOperation;
  readonly splitGap: TimedOperation;
  readonly gapPermanent: TimedOperation;
  readonly claimAttempts: Counter = new Counter();
  readonly claimSuccesses: Counter = new Counter();
  readonly batchesCompleted: Counter = new Counter();
  readonly batchesFailed: Counter = new Counter();
  readonly gapsReleased: Counter = new Counter();
  readonly #claims: SlidingWindowCounter;
  gapsPending = 0;

  constructor(errors: ErrorLog, windowSeconds: number | undefined) {
    const timed = (code: OperationalErrorCode, message: string) =>
      new TimedOperation({ code, message, errors, windowSeconds });
    this.#claims = new SlidingWindowCounter(windowSeconds);
    this.claim = timed("CLAIM_FAILED", "Failed to claim batch");
    this.complete = timed("MARK_COMPLETED_FAILED", "Failed to mark batch completed");
    this.fail = timed("MARK_FAILED_FAILED", "Failed to mark batch failed");
    this.maxTickEnd = timed("GET_MAX_TICK_END_FAILED", "Failed to get max completed tick");
    this.recordGap = timed("RECORD_GAP_FAILED", "Failed to record gap");
    this.oldestGap = timed("GET_OLDEST_GAP_FAILED", "Failed to get oldest pending gap");
    this.splitGap = timed("SPLIT_GAP_FAILED", "Failed to split gap");
    this.gapPermanent = timed("MARK_GAP_PERMANENT_FAILED", "Failed to mark gap as permanent");
  }

  claimed(attempts: number, successes: number): void {
    this.claimAttempts.increment(attempts);
    this.claimSuccesses.increment(successes);
    this.#claims.recordCount(attempts);
  }

  get values(): Readonly<Record<string, number>> {
    const attempts = this.claimAttempts.value;
    const successes = this.claimSuccesses.value;
    return {
      claim_attempts: attempts,
      claim_successes: successes,
      claim_conflicts: attempts - successes,
      claim_success_rate: attempts > 0 ? successes / attempts : 0,
      claims_per_sec: this.#claims.getRate(),
      claims_window_total: this.#claims.getWindowSum(),
      batches_completed: this.batchesCompleted.value,
      batches_failed: this.batchesFailed.value,
      gaps_pending: this.gapsPending,
      gaps_released: this.gapsReleased.value,
      coordination_errors: this.#failures(),
      ...latencyMetrics("claim_latency", this.claim.latency),
      ...latencyMetrics("try_claim_latency", this.claim.latency),
      ...latencyMetrics("complete_latency", this.complete.latency),
      ...latencyMetrics("mark_completed_latency", this.complete.latency),
      ...latencyMetrics("mark_failed_latency", this.fail.latency),
      ...latencyMetrics("mark_gap_pending_latency", this.recordGap.latency),
      ...latencyMetrics("has_gap_before_latency", this.oldestGap.latency),
      ...latencyMetrics("release_gap_pending_latency", this.splitGap.latency),
    };
  }

  #failures(): number {
    const operations = [
      ...[this.claim, this.complete, this.fail, this.maxTickEnd],
      ...[this.recordGap, this.oldestGap, this.splitGap, this.gapPermanent],
    ];
    return operations.reduce((sum, operation) => sum + operation.failures.value, 0);
  }
}
