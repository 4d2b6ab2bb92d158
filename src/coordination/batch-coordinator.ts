import type { CallerClient, Transaction } from "../database/index.ts";
import type { Monitorable } from "../monitoring/index.ts";
import type { BatchToClaim, GrantedClaim, RefusedClaim } from "./sql/claim-batches.ts";
import type { ClaimStep, FailedFilter, LedgerEntry, TakenOver } from "./sql/claims.ts";
import type { GapInfo } from "./sql/gaps.ts";
import type { KnownFile, UnclaimedFile } from "./sql/manifest.ts";
import type { ReconciledGaps } from "./sql/reconcile-gaps.ts";
import type { InstanceClaims } from "./sql/tick-account.ts";

/** Every write joins the caller's transaction when one is given. */
export interface WriteOptions {
  readonly tx?: Transaction | CallerClient;
}

/** The ticks that a run should have, for {@link BatchCoordinatorReady.reconcileGaps}. */
export interface ExpectedRange {
  /** Every how many ticks the producer samples. */
  readonly samplingInterval: number;
  /** The first expected tick. Default 0. */
  readonly start?: number;
  /** The last tick that the producer declared. Default: the highest known one, so no tail is missing. */
  readonly declaredEnd?: number | undefined;
}

/** What a claim attempt for many files brought. */
export interface ClaimResult {
  readonly granted: readonly GrantedClaim[];
  readonly refused: readonly RefusedClaim[];
}

/**
 * Coordination before it knows for whom: name the indexer class, once, and get the operations.
 *
 * @example
 * ```ts
 * const coordinator = createBatchCoordinator(database);
 * coordinator.setSimulationRun("run-1");
 * const ready = coordinator.setIndexerClass("DummyIndexer");
 * await ready.tryClaim("batch_0000000000_0000000999.pb", 0, 999);
 * await ready.markCompleted("batch_0000000000_0000000999.pb");
 * ```
 */
export interface BatchCoordinator extends Monitorable, AsyncDisposable {
  /** Names the run whose ledger is used. */
  setSimulationRun(runId: string): void;

  /**
   * Names the indexer class: instances of one class compete, classes do not affect each other.
   *
   * @throws TallymanError INVALID_STATE when it was called before, INVALID_OPTION for an empty name
   */
  setIndexerClass(indexerClass: string): BatchCoordinatorReady;
}

/**
 * The ledger of one indexer class: claims that survive crashes, and gaps that can't hide.
 *
 * Safe for concurrent use. Any number of instances, in any number of processes, may work on the same
 * run; the database decides. All operations throw what the database throws; a database error is never
 * an answer.
 */
export interface BatchCoordinatorReady extends Monitorable, AsyncDisposable {
  readonly indexerClass: string;
  readonly instanceId: string;
  /** How long a claim is held without renewal. */
  readonly leaseMs: number;
  setSimulationRun(runId: string): void;

  /**
   * Claims one file for the time of the lease.
   *
   * @throws BatchAlreadyClaimedError when another instance holds it, or it is completed or failed
   */
  tryClaim(
    batchFilename: string,
    tickStart: number,
    tickEnd: number,
    options?: WriteOptions,
  ): Promise<GrantedClaim>;

  /** Claims many files in one statement; those that can't be had are named, not thrown. */
  tryClaimMany(batches: readonly BatchToClaim[], options?: WriteOptions): Promise<ClaimResult>;

  /** Takes over files whose holder died, oldest ticks first; never one that this instance holds itself. */
  takeOverExpired(limit: number): Promise<readonly TakenOver[]>;

  /**
   * Ends database connections of ours that still lock a file although its lease ran out that long ago,
   * so that it can be taken over; returns how many.
   */
  endStalledHolders(expiredForMs: number): Promise<number>;

  /** Where files stand, once whoever is writing them has committed or rolled back. */
  readSettled(batchFilenames: readonly string[]): Promise<readonly LedgerEntry[]>;

  /** Extends the leases of all claims that this instance holds; returns the files whose claim is lost. */
  renewClaims(): Promise<readonly string[]>;

  /**
   * Gives claims back, with the position reached: at once, for a graceful stop; or with a delay during
   * which nobody gets them, after a failure. They are not renewed from here on, even when this throws.
   */
  releaseClaims(
    batchFilenames: readonly string[],
    options?: WriteOptions & { readonly delayMs?: number },
  ): Promise<void>;

  /**
   * Marks a claimed file as completed. Doing it twice changes nothing. In a transaction of yours: call
   * {@link settleClaims} when it has committed.
   *
   * @throws ClaimLostError without a valid claim
   */
  markCompleted(batchFilename: string, options?: WriteOptions): Promise<void>;

  /**
   * Marks many claimed files as completed in one statement. In a transaction of yours: as {@link markCompleted}.
   *
   * @throws ClaimLostError when one of them is not held: inside a transaction of yours, roll back
   */
  markCompletedMany(batchFilenames: readonly string[], options?: WriteOptions): Promise<void>;

  /**
   * Marks a claimed file as failed; it is not taken again until {@link retryFailed}. In a transaction of yours: as
   * {@link markCompleted}.
   *
   * @throws ClaimLostError without a valid claim, also for a file that is completed
   */
  markFailed(batchFilename: string, error: string, options?: WriteOptions): Promise<void>;

  /**
   * The fence of a flush, first half: locks the files' rows and returns those that are still ours at
   * the position that we believe. Call it first in the flush's transaction.
   */
  lockClaims(steps: readonly ClaimStep[], options: Required<WriteOptions>): Promise<readonly string[]>;

  /**
   * The fence of a flush, second half: moves the positions, completing files that end.
   *
   * @throws ClaimLostError when a file is not at its position: roll back
   */
  advanceClaims(steps: readonly ClaimStep[], options: Required<WriteOptions>): Promise<void>;

  /** Tells that the transaction which completed these files, or marked them as failed, has committed: their leases end. */
  settleClaims(batchFilenames: readonly string[], status?: "completed" | "failed"): void;

  /** Makes failed files claimable again; returns them. */
  retryFailed(filter: FailedFilter, options?: WriteOptions): Promise<readonly string[]>;

  /** Who works on what: the instances of this class, the busiest first. */
  listInstances(): Promise<readonly InstanceClaims[]>;

  /** The highest last tick among completed files, or -1 when there is none. */
  getMaxCompletedTickEnd(): Promise<number>;

  /** Enters files in the run's manifest; returns those that were new. */
  registerFiles(files: readonly KnownFile[], options?: WriteOptions): Promise<readonly string[]>;

  /** Files that have been known for that long and that this class never claimed, the oldest ticks first. */
  listUnclaimed(knownForMs: number, limit: number): Promise<readonly UnclaimedFile[]>;

  /** The last tick of the known file that begins last, or -1 when none is known. */
  getLastKnownTick(): Promise<number>;

  /**
   * Derives the gaps from the manifest and brings the recorded ones in line, keeping their age and
   * status, and those that were recorded by hand until a file covers them.
   */
  reconcileGaps(expected: ExpectedRange): Promise<ReconciledGaps>;

  /** Records a gap by hand; ticks that are in a recorded gap already are left out. */
  recordGap(gapStart: number, gapEnd: number): Promise<void>;

  /** The pending gap with the lowest ticks, or null. */
  getOldestPendingGap(): Promise<GapInfo | null>;

  /**
   * Gaps in tick order, at most `limit` (default 1000), of one status when it is named, and for further pages those
   * behind the gap that starts at `after`.
   */
  listGaps(limit?: number, status?: GapInfo["status"], after?: number): Promise<readonly GapInfo[]>;

  /** Whether a pending gap has been missing for that long, by the database's clock. */
  isGapOlderThan(gapStart: number, ageMs: number): Promise<boolean>;

  /** Cuts a found batch out of a gap; the parts before and after it keep the gap's age. */
  splitGap(
    oldGapStart: number,
    oldGapEnd: number,
    foundBatchStart: number,
    foundBatchEnd: number,
    samplingInterval: number,
  ): Promise<void>;

  /** Ends the search for a gap; true for the one caller that did. A file that comes later reopens it. */
  markGapPermanent(gapStart: number): Promise<boolean>;
}
