import type { Database, Transaction } from "../database/index.ts";
import { resolveOptions, wholeNumber } from "../runtime/index.ts";
import { unknownWorker, workerIdTaken, workerReplaced } from "./errors.ts";
import { hint } from "./hints.ts";
import { lockAllSegments, resizeSegments, segmentCount, selectSegments } from "./sql/segment.ts";
import {
  countFleet,
  drainWorker,
  heartbeatWorker,
  registerWorker,
  releaseAllSegments,
  releaseSegments,
  selectWorkers,
} from "./sql/worker.ts";
import { checkId } from "./validate-id.ts";
import type { FleetCounts, HeartbeatAnswer, SegmentGrant, SegmentInfo, WorkerInfo } from "./worker-info.ts";

/** Segments that a job store can have. */
export const segmentCountMax = 1024;
const heartbeatTimeoutMsDefault = 60_000;

/** How a worker registers. */
export interface RegisterOptions {
  /**
   * UUID of the process, one per start. With it, an earlier process under the same id is refused from now
   * on; without it (over HTTP) the id alone says who the worker is.
   */
  readonly bootId?: string;
  /** Segments at most; null: no limit. Default: what it asked for before, and 0 at first. */
  readonly cap?: number | null;
  /** Silence after which the worker is UNHEALTHY and loses its segments. Default 60 s. */
  readonly heartbeatTimeoutMs?: number;
}

/** Which process speaks. */
export interface ProcessOption {
  readonly bootId?: string;
}

/** How the number of segments is changed. */
export interface SegmentCountOptions {
  /** Moves everything that is stored by segment to its new number, in the same transaction. */
  readonly remap?: (tx: Transaction, segmentCount: number) => Promise<void>;
}

/**
 * The fleet of scheduler workers and the segments they hold, as any process sees it. What only the leader
 * may do (assigning segments) is the {@link Coordinator}'s. Stateless: safe to share.
 *
 * @example
 * ```ts
 * const fleet = new Fleet(database);
 * await fleet.register("worker-1", { bootId, cap: null, heartbeatTimeoutMs: 10_000 });
 * const { assigned, revoking } = await fleet.heartbeat("worker-1", { bootId });
 * await fleet.release("worker-1", revoking, { bootId });
 * ```
 */
export class Fleet {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Registers a worker as ONLINE. Idempotent: the same process keeps its segments. Another process under the
   * same id takes the place of the earlier one, whose epochs are over.
   *
   * @throws TallymanError SCHEDULER_WORKER_ID_TAKEN without a bootId, when a process works under this id
   */
  async register(workerId: string, given: RegisterOptions = {}): Promise<WorkerInfo> {
    checkId("workerId", workerId);
    const { cap, ...rest } = given;
    const options = resolveOptions<Pick<RegisterOptions, "bootId"> & { heartbeatTimeoutMs: number }>(
      { bootId: undefined, heartbeatTimeoutMs: heartbeatTimeoutMsDefault },
      rest,
      { bootId: isUuid },
    );
    if (cap !== undefined && cap !== null) resolveOptions({ cap: 0 }, { cap }, capRule);
    const registration = { workerId, ...options, bootId: options.bootId ?? null, cap };
    if (!(await registerWorker(this.#database, registration))) throw workerIdTaken(workerId);
    await hint(this.#database, "fleet");
    return this.worker(workerId);
  }

  /**
   * Says that a worker is alive, and answers with everything that it may work on. A worker that was taken for
   * dead is ONLINE again, with nothing assigned.
   *
   * @throws TallymanError SCHEDULER_WORKER_NOT_FOUND; SCHEDULER_WORKER_REPLACED when another process has its
   * place: stop
   */
  async heartbeat(workerId: string, { bootId }: ProcessOption = {}): Promise<HeartbeatAnswer> {
    checkId("workerId", workerId);
    const answer = await heartbeatWorker(this.#database, workerId, bootId ?? null);
    return answer ?? (await this.#refuse(workerId));
  }

  /**
   * Gives segments back. Named ones go only where this worker still holds them under the same epoch, so a
   * late call changes nothing. `"all"` also sets the worker's cap to 0, so that they don't come straight back.
   *
   * @returns the ids that were given back
   * @throws TallymanError SCHEDULER_WORKER_NOT_FOUND, SCHEDULER_WORKER_REPLACED for `"all"`
   */
  async release(
    workerId: string,
    grants: readonly SegmentGrant[] | "all",
    { bootId }: ProcessOption = {},
  ): Promise<readonly number[]> {
    checkId("workerId", workerId);
    const released =
      grants === "all"
        ? await releaseAllSegments(this.#database, { workerId, bootId: bootId ?? null, leaves: false })
        : await releaseSegments(this.#database, workerId, grants);
    if (released === undefined) return this.#refuse(workerId);
    if (released.length > 0) await hint(this.#database, "fleet");
    return released;
  }

  /**
   * A worker's last word: it is OFFLINE, its segments are free, and a heartbeat of it that arrives late is
   * refused. Harmless when another process has its place already.
   *
   * @returns the ids that were given back
   */
  async leave(workerId: string, { bootId }: ProcessOption = {}): Promise<readonly number[]> {
    checkId("workerId", workerId);
    const released = await releaseAllSegments(this.#database, {
      workerId,
      bootId: bootId ?? null,
      leaves: true,
    });
    if (released !== undefined) await hint(this.#database, "fleet");
    return released ?? [];
  }

  /**
   * Asks a worker to finish: the leader revokes its segments one and all and gives it no more, until it
   * registers again.
   *
   * @throws TallymanError SCHEDULER_WORKER_NOT_FOUND
   */
  async drain(workerId: string): Promise<WorkerInfo> {
    checkId("workerId", workerId);
    if (!(await drainWorker(this.#database, workerId))) throw unknownWorker(workerId);
    await hint(this.#database, "fleet");
    return this.worker(workerId);
  }

  /** Every worker that is known, in the order of ids. */
  listWorkers(): Promise<readonly WorkerInfo[]> {
    return selectWorkers(this.#database);
  }

  /**
   * One worker.
   *
   * @throws TallymanError SCHEDULER_WORKER_NOT_FOUND
   */
  async worker(workerId: string): Promise<WorkerInfo> {
    checkId("workerId", workerId);
    const [worker] = await selectWorkers(this.#database, workerId);
    if (!worker) throw unknownWorker(workerId);
    return worker;
  }

  /**
   * The ids of the segments that a worker holds.
   *
   * @throws TallymanError SCHEDULER_WORKER_NOT_FOUND
   */
  async segmentsOf(workerId: string): Promise<readonly number[]> {
    return (await this.worker(workerId)).assignedSegments;
  }

  /** Every segment with its owner, in the order of ids. */
  segmentMap(): Promise<readonly SegmentInfo[]> {
    return selectSegments(this.#database);
  }

  /** How many workers and segments there are, by state. */
  counts(): Promise<FleetCounts> {
    return countFleet(this.#database);
  }

  /** How many segments the job store has. */
  segmentCount(): Promise<number> {
    return segmentCount(this.#database);
  }

  /**
   * Changes the number of segments. All of them become available under new epochs in the same moment, so
   * nothing fires by the old number; the leader assigns them again at once.
   *
   * @throws TallymanError INVALID_OPTION outside 1 to 1,024
   */
  async setSegmentCount(count: number, { remap }: SegmentCountOptions = {}): Promise<void> {
    resolveOptions({ count: 1 }, { count }, { count: wholeNumber({ max: segmentCountMax }) });
    await this.#database.transaction(async (tx) => {
      await lockAllSegments(tx);
      await remap?.(tx, count);
      await resizeSegments(tx, count);
    });
    await hint(this.#database, "fleet");
    await hint(this.#database, "segments");
  }

  /** Why a statement that named a worker matched nothing. */
  async #refuse(workerId: string): Promise<never> {
    await this.worker(workerId);
    throw workerReplaced(workerId);
  }
}

const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

function isUuid(text: string): string | undefined {
  return uuidPattern.test(text) ? undefined : "a UUID";
}

const capRule = { cap: wholeNumber({ min: 0 }) };
