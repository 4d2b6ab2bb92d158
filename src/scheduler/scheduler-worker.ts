import type { CommandBus } from "../commands/index.ts";
import type { Database } from "../database/index.ts";
import type { Monitorable, OperationalError } from "../monitoring/index.ts";
import {
  backoffMs,
  crashPoint,
  type GivenOptions,
  isAbort,
  logger,
  resolveOptions,
  Service,
  WakeUp,
} from "../runtime/index.ts";
import { fireInBulk, parkFailed } from "./fire-in-bulk.ts";
import { schedulerChannels } from "./hints.ts";
import { planFires } from "./plan-fires.ts";
import { SchedulerWorkerMetrics } from "./scheduler-worker-metrics.ts";
import {
  type SchedulerWorkerOptions,
  schedulerWorkerDefaults,
  schedulerWorkerRules,
} from "./scheduler-worker-options.ts";
import { SegmentLease } from "./segment-lease.ts";
import {
  type DueJob,
  type Fire,
  type Fired,
  type SeenJob,
  selectDueJobs,
  selectMsUntilDue,
} from "./sql/fire.ts";
import { deleteOldFires } from "./sql/fire-history.ts";
import type { SegmentGrant } from "./worker-info.ts";

const log = logger("scheduler.worker");

/** A segment with much to do may take so many times its share of a bulk. */
const shareFactor = 2;
const pruneIntervalMs = 60_000;
const pruneRowsMax = 5_000;
const turnRetry = { initialMs: 100, maxMs: 5_000, factor: 2, jitter: 0.5 };

/**
 * Fires the due jobs of the segments that the leader gave it, as commands and batches on the bus.
 *
 * A bulk of fires is one statement: it locks the segments on (owner, epoch), advances each job from the time
 * that was seen, records the fire and enqueues. A job that a client holds in an open transaction waits for the next
 * turn, alone. So each (job, fire time) is enqueued exactly once whatever
 * happens to the worker, and a worker that lost a segment fires nothing of it, from the very moment. stop()
 * finishes the bulk that is under way, gives the segments back and leaves. Any number of workers, in any
 * number of processes.
 *
 * @example
 * ```ts
 * await using worker = new SchedulerWorker(database, bus);
 * await worker.start();
 * ```
 */
export class SchedulerWorker extends Service implements Monitorable {
  readonly workerId: string;
  readonly #database: Database;
  readonly #bus: CommandBus;
  readonly #options: Readonly<SchedulerWorkerOptions>;
  readonly #lease: SegmentLease;
  readonly #metrics = new SchedulerWorkerMetrics();
  readonly #wakeUp: WakeUp;
  #turn: Promise<unknown> = Promise.resolve();
  #firstSegment = 0;
  /** The last look found more than one bulk takes. */
  #isBehind = false;
  #failures = 0;
  #pruneAtMs = Number.NEGATIVE_INFINITY;
  #unsubscribe: (() => void) | undefined;

  /** @throws TallymanError INVALID_OPTION */
  constructor(database: Database, bus: CommandBus, given: GivenOptions<SchedulerWorkerOptions> = {}) {
    const options = resolveOptions<SchedulerWorkerOptions>(
      schedulerWorkerDefaults(),
      given,
      schedulerWorkerRules,
    );
    super("scheduler.worker");
    this.#database = database;
    this.#bus = bus;
    this.#options = options;
    this.workerId = options.workerId;
    this.#wakeUp = new WakeUp(options.clock);
    const { workerId, cap = null, heartbeatIntervalMs, heartbeatTimeoutMs, clock } = options;
    this.#lease = new SegmentLease(database, {
      workerId,
      cap,
      heartbeatIntervalMs,
      heartbeatTimeoutMs,
      clock,
      onChange: () => this.#wakeUp.notify(),
      settled: async () => void (await this.#turn),
      onFailure: (error) => this.#metrics.heartbeatFailed(error),
    });
  }

  /** The segments that it works on at this moment. */
  get segments(): readonly number[] {
    return this.#lease.grants.map(({ segmentId }) => segmentId);
  }

  getMetrics(): Readonly<Record<string, number>> {
    return { ...this.#metrics.snapshot(), segments_held: this.#lease.grants.length };
  }

  isHealthy(): boolean {
    return this.state === "RUNNING" && this.#failures === 0;
  }

  getErrors(): readonly OperationalError[] {
    return this.#metrics.errors.list();
  }

  clearErrors(): void {
    this.#metrics.errors.clear();
  }

  protected override async onStart(): Promise<void> {
    const { jobs } = schedulerChannels(this.#database);
    this.#unsubscribe = this.#database.listener.subscribe(jobs, () => this.#wakeUp.notify());
    await this.#lease.join();
  }

  protected override async runOnce(signal: AbortSignal): Promise<void> {
    if (this.#lease.replacedBy) throw this.#lease.replacedBy;
    const { grants } = this.#lease;
    try {
      const turn = this.#fireDue(grants);
      this.#turn = turn.catch(() => undefined);
      const waitMs = await turn;
      this.#failures = 0;
      const isMoreToPrune = await this.#pruneWhenDue();
      if (waitMs > 0 && !isMoreToPrune) await this.#waitForNext(waitMs, signal);
    } catch (error) {
      if (signal.aborted && isAbort(error)) throw error;
      await this.#surviveFailure(error, signal);
    }
  }

  protected override async onStop(): Promise<void> {
    this.#unsubscribe?.();
    await this.#turn;
    await this.#lease.leave();
    await this.#bus.hints.flush();
  }

  /**
   * One bulk of these segments; returns how long to wait before the next look. While nothing is due a look is one
   * probe of the index for each segment.
   */
  async #fireDue(grants: readonly SegmentGrant[]): Promise<number> {
    const { pollIntervalMs, gatherMs, firesMax } = this.#options;
    if (grants.length === 0) return pollIntervalMs;
    const segmentIds = this.#rotated(grants);
    if (!this.#isBehind) {
      const untilDueMs = (await selectMsUntilDue(this.#database, segmentIds)) ?? pollIntervalMs;
      if (untilDueMs > 0) return Math.min(pollIntervalMs, Math.max(untilDueMs, gatherMs));
    }
    const perSegment = Math.ceil((firesMax * shareFactor) / segmentIds.length);
    const due = await selectDueJobs(this.#database, segmentIds, { perSegment, limit: firesMax });
    const advanced = due.length > 0 ? await this.#fire(grants, due) : 0;
    // Jobs that clients hold stay due: when there is nothing else, another look at once would find the same.
    this.#isBehind = advanced > 0 && due.length >= Math.min(firesMax, perSegment);
    return this.#isBehind ? 0 : gatherMs;
  }

  /** Returns how many jobs moved on. */
  async #fire(grants: readonly SegmentGrant[], due: readonly DueJob[]): Promise<number> {
    let advanced = 0;
    const concerned = new Set(due.map(({ segmentId }) => segmentId));
    const firing = {
      workerId: this.workerId,
      grants: grants.filter(({ segmentId }) => concerned.has(segmentId)),
      onFired: (fired: Fired, fires: readonly Fire[]) => {
        advanced += fired.advanced;
        this.#fired(fired, fires);
      },
      onParked: ({ jobId }: SeenJob, error: unknown) => this.#parked(jobId, error),
    };
    crashPoint("scheduler.worker.before-fire");
    const { fires, failures } = planFires(due);
    if (fires.length > 0) await fireInBulk(this.#database, firing, fires);
    for (const { job, error } of failures) await parkFailed(this.#database, firing, job, error);
    crashPoint("scheduler.worker.after-fire");
    for (const { nowMs, nextFireMs } of due) this.#metrics.lagged(nowMs - nextFireMs);
    return advanced;
  }

  #fired(fired: Fired, fires: readonly Fire[]): void {
    this.#metrics.fired(fired, fires.length);
    this.#lease.lost(fired.lostSegments);
    for (const domain of fired.domains) void this.#bus.hints.commandsReady(domain);
  }

  #parked(jobId: number, error: unknown): void {
    this.#metrics.parked(jobId, error);
    log.warn(`Job ${jobId} could not be fired and is parked: ${(error as Error).message}`);
  }

  /** Each turn begins with another segment, so that none waits behind those that always have much to do. */
  #rotated(grants: readonly SegmentGrant[]): number[] {
    this.#firstSegment = (this.#firstSegment + 1) % grants.length;
    const ids = grants.map(({ segmentId }) => segmentId);
    return [...ids.slice(this.#firstSegment), ...ids.slice(0, this.#firstSegment)];
  }

  /** A hint cuts the wait short, but never below the time in which fires gather. */
  async #waitForNext(waitMs: number, signal: AbortSignal): Promise<void> {
    const { clock, gatherMs } = this.#options;
    const fromMs = clock.monotonicMs();
    await this.#wakeUp.wait(waitMs, signal);
    const restMs = gatherMs - (clock.monotonicMs() - fromMs);
    if (restMs > 0) await clock.sleep(restMs, signal);
  }

  /** Forgets a bounded part of the old history; true when more is left, for after the next look: fires come first. */
  async #pruneWhenDue(): Promise<boolean> {
    const { clock, keepHistoryMs } = this.#options;
    const nowMs = clock.monotonicMs();
    if (nowMs < this.#pruneAtMs) return false;
    this.#pruneAtMs = nowMs + pruneIntervalMs;
    const isMoreLeft = (await deleteOldFires(this.#database, keepHistoryMs, pruneRowsMax)) === pruneRowsMax;
    if (isMoreLeft) this.#pruneAtMs = nowMs;
    return isMoreLeft;
  }

  async #surviveFailure(error: unknown, signal: AbortSignal): Promise<void> {
    this.#failures++;
    this.#metrics.turnFailed(error);
    if (this.#failures === 1) log.warn(`Jobs could not be fired, trying again: ${String(error)}`);
    await this.#options.clock.sleep(backoffMs(this.#failures, turnRetry), signal);
  }
}
