import { randomUUID } from "node:crypto";
import type { Database } from "../database/index.ts";
import { isTallymanError, type TallymanError } from "../errors/index.ts";
import { type Clock, isAbort, logger, WakeUp } from "../runtime/index.ts";
import { Fleet } from "./fleet.ts";
import { schedulerChannels } from "./hints.ts";
import type { SegmentGrant } from "./worker-info.ts";

const log = logger("scheduler.worker");

/** Part of the heartbeat timeout that a worker does not count on: clocks differ, answers travel. */
const trustMargin = 0.2;

/** What a lease needs to know. */
export interface SegmentLeaseOptions {
  readonly workerId: string;
  readonly cap: number | null;
  readonly heartbeatIntervalMs: number;
  readonly heartbeatTimeoutMs: number;
  readonly clock: Clock;
  /** The grants have changed. */
  readonly onChange: () => void;
  /** Resolves when nothing that was begun before is under way. */
  readonly settled: () => Promise<void>;
  readonly onFailure: (error: unknown) => void;
}

/**
 * A worker's membership in the fleet: registers, sends heartbeats, and knows which segments it may work on.
 *
 * It trusts an answer for less than the heartbeat timeout, counted on its own monotonic clock from the moment
 * the heartbeat was sent; afterwards it holds nothing, whatever the database says. That keeps a worker that
 * was cut off from trying in vain; what keeps it from doing harm is the epoch.
 */
export class SegmentLease {
  readonly #fleet: Fleet;
  readonly #options: SegmentLeaseOptions;
  readonly #bootId = randomUUID();
  readonly #wakeUp: WakeUp;
  readonly #database: Database;
  #assigned: readonly SegmentGrant[] = [];
  #trustedUntilMs = Number.NEGATIVE_INFINITY;
  #stopping = new AbortController();
  #loop: Promise<void> | undefined;
  #replaced: TallymanError | undefined;

  constructor(database: Database, options: SegmentLeaseOptions) {
    this.#database = database;
    this.#fleet = new Fleet(database);
    this.#options = options;
    this.#wakeUp = new WakeUp(options.clock);
  }

  /** SCHEDULER_WORKER_REPLACED, once another process works under this id. */
  get replacedBy(): TallymanError | undefined {
    return this.#replaced;
  }

  /** The segments to work on now. */
  get grants(): readonly SegmentGrant[] {
    return this.#options.clock.monotonicMs() < this.#trustedUntilMs ? this.#assigned : [];
  }

  /** Registers the worker and keeps it in the fleet until {@link leave}. */
  async join(): Promise<void> {
    this.#replaced = undefined;
    this.#stopping = new AbortController();
    await this.#register();
    await this.#beat();
    this.#loop = this.#beatUntilStopped();
  }

  /** The fence refused these: they are not ours any more, look again. */
  lost(segmentIds: readonly number[]): void {
    if (segmentIds.length === 0) return;
    this.#assigned = this.#assigned.filter(({ segmentId }) => !segmentIds.includes(segmentId));
    this.#wakeUp.notify();
  }

  /** Gives everything back and leaves the fleet. */
  async leave(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
    this.#assigned = [];
    const { workerId } = this.#options;
    await this.#fleet
      .leave(workerId, { bootId: this.#bootId })
      .catch((error) =>
        log.warn(`The segments were not given back, they come free by timeout: ${String(error)}`),
      );
  }

  async #register(): Promise<void> {
    const { workerId, cap, heartbeatTimeoutMs } = this.#options;
    await this.#fleet.register(workerId, { bootId: this.#bootId, cap, heartbeatTimeoutMs });
  }

  async #beatUntilStopped(): Promise<void> {
    const { signal } = this.#stopping;
    const { segments } = schedulerChannels(this.#database);
    const unsubscribe = this.#database.listener.subscribe(segments, () => this.#wakeUp.notify());
    while (!signal.aborted && this.#replaced === undefined) {
      await this.#wakeUp.wait(this.#options.heartbeatIntervalMs, signal).catch((error) => {
        if (!isAbort(error)) throw error;
      });
      if (!signal.aborted) await this.#beat().catch((error) => this.#beatFailed(error));
    }
    unsubscribe();
  }

  async #beat(): Promise<void> {
    const { workerId, heartbeatTimeoutMs, clock, onChange } = this.#options;
    const sentMs = clock.monotonicMs();
    const { assigned, revoking } = await this.#fleet.heartbeat(workerId, { bootId: this.#bootId });
    // Compared with what was trusted until now: what had run out and is ours again has changed too.
    const isChanged = !sameGrants(this.grants, assigned);
    this.#trustedUntilMs = sentMs + heartbeatTimeoutMs * (1 - trustMargin);
    this.#assigned = assigned;
    if (isChanged) onChange();
    if (revoking.length > 0) await this.#giveBack(revoking);
  }

  /** What was begun on them ends first; new work on them has been out of the question since the answer came. */
  async #giveBack(revoking: readonly SegmentGrant[]): Promise<void> {
    await this.#options.settled();
    await this.#fleet.release(this.#options.workerId, revoking, { bootId: this.#bootId });
  }

  async #beatFailed(error: unknown): Promise<void> {
    if (isTallymanError(error, "SCHEDULER_WORKER_REPLACED")) {
      this.#replaced = error;
      this.#assigned = [];
      this.#options.onChange();
      return;
    }
    this.#options.onFailure(error);
    if (isTallymanError(error, "SCHEDULER_WORKER_NOT_FOUND")) {
      await this.#register().catch((failure) => this.#options.onFailure(failure));
    }
  }
}

function sameGrants(a: readonly SegmentGrant[], b: readonly SegmentGrant[]): boolean {
  return (
    a.length === b.length &&
    a.every(({ segmentId, epoch }, i) => segmentId === b[i]?.segmentId && epoch === b[i]?.epoch)
  );
}
