import { randomUUID } from "node:crypto";
import type { Database } from "../database/index.ts";
import { TallymanError } from "../errors/index.ts";
import { type GivenOptions, resolveOptions } from "../runtime/index.ts";
import type {
  BatchCoordinator,
  BatchCoordinatorReady,
  ClaimResult,
  ExpectedRange,
  WriteOptions,
} from "./batch-coordinator.ts";
import { CoordinatorMetrics } from "./coordinator-metrics.ts";
import { DatabaseCapability } from "./database-capability.ts";
import { BatchAlreadyClaimedError, ClaimLostError } from "./errors.ts";
import { partsAround } from "./split-gap.ts";
import { type BatchToClaim, claimBatches, type GrantedClaim } from "./sql/claim-batches.ts";
import {
  advanceClaims,
  type ClaimStep,
  endClaims,
  endStalledHolders,
  type FailedFilter,
  lockClaims,
  maxCompletedTickEnd,
  readLedger,
  readSettledLedger,
  releaseClaims,
  renewClaims,
  retryFailed,
  takeOverExpired,
} from "./sql/claims.ts";
import {
  cutGap,
  type GapInfo,
  insertManualGap,
  isGapOlderThan,
  listGaps,
  lockGaps,
  oldestPendingGap,
  setGapPermanent,
} from "./sql/gaps.ts";
import { type KnownFile, lastKnownTick, registerFiles, unclaimedFiles } from "./sql/manifest.ts";
import { type ReconciledGaps, reconcileGapRows, summariseFiles } from "./sql/reconcile-gaps.ts";
import { claimsByInstance } from "./sql/tick-account.ts";

/** Settings of a coordinator. */
export interface BatchCoordinatorOptions {
  /** How long a claim is held without renewal. Default 60 s. */
  readonly leaseMs: number;
  /** Names this instance in the ledger; unique among those that run. Default a random one. */
  readonly instanceId: string;
  /** Window of the latency percentiles. Default 5 s. */
  readonly metricsWindowSeconds: number;
}

/** Folding files away pays off from here on; below, reading them again is cheaper than marking them. */
const summariseFilesMin = 1_000;
const summariseFilesMax = 10_000;
const filenameCharactersMax = 1_000;
const listGapsDefault = 1_000;

/** Opens the ledger and the gap map of runs in this database; name the indexer class next. */
export function createBatchCoordinator(
  database: Database,
  options: GivenOptions<BatchCoordinatorOptions> = {},
): BatchCoordinator {
  return new DatabaseBatchCoordinator(database, options);
}

/**
 * Both halves of the coordinator in one object, so that an operation called too early, which does not
 * compile, fails with a clear error from JavaScript.
 */
class DatabaseBatchCoordinator extends DatabaseCapability implements BatchCoordinator, BatchCoordinatorReady {
  readonly #options: Readonly<BatchCoordinatorOptions>;
  readonly #metrics: CoordinatorMetrics;
  /** Claim versions of the files that this instance holds. */
  readonly #held = new Map<string, number>();
  #indexerClass: string | undefined;

  constructor(database: Database, options: GivenOptions<BatchCoordinatorOptions>) {
    super(database);
    const defaults = { leaseMs: 60_000, instanceId: randomUUID(), metricsWindowSeconds: 5 };
    this.#options = resolveOptions<BatchCoordinatorOptions>(defaults, options);
    this.#metrics = new CoordinatorMetrics(this.errors, this.#options.metricsWindowSeconds);
  }

  setIndexerClass(indexerClass: string): BatchCoordinatorReady {
    if (this.#indexerClass !== undefined) {
      throw new TallymanError("INVALID_STATE", `The indexer class is set already, to ${this.#indexerClass}.`);
    }
    if (typeof indexerClass !== "string" || indexerClass.trim() === "") {
      throw new TallymanError("INVALID_OPTION", "The indexer class must have a name.");
    }
    this.#indexerClass = indexerClass;
    return this;
  }

  get indexerClass(): string {
    if (this.#indexerClass !== undefined) return this.#indexerClass;
    throw new TallymanError("INVALID_STATE", "No indexer class is set: call setIndexerClass() first.");
  }

  get instanceId(): string {
    return this.#options.instanceId;
  }

  get leaseMs(): number {
    return this.#options.leaseMs;
  }

  override getMetrics(): Readonly<Record<string, number>> {
    return { ...super.getMetrics(), ...this.#metrics.values };
  }

  async tryClaim(batchFilename: string, tickStart: number, tickEnd: number, options: WriteOptions = {}) {
    const { granted, refused } = await this.tryClaimMany(
      [{ filename: batchFilename, tickStart, tickEnd }],
      options,
    );
    const claim = granted[0];
    if (!claim) throw new BatchAlreadyClaimedError(batchFilename, refused[0]?.status ?? "claimed");
    return claim;
  }

  async tryClaimMany(batches: readonly BatchToClaim[], { tx }: WriteOptions = {}): Promise<ClaimResult> {
    const claimant = this.#claimant;
    for (const batch of batches) refuseBadBatch(batch);
    if (batches.length === 0) return { granted: [], refused: [] };
    const details = `Batches: ${batches.length} from ${batches[0]?.filename}`;
    const result = await this.#metrics.claim.run(details, () =>
      this.write((executor) => claimBatches(executor, claimant, batches), tx),
    );
    this.#metrics.claimed(result.granted.length + result.refused.length, result.granted.length);
    this.#hold(result.granted);
    return result;
  }

  async takeOverExpired(limit: number) {
    const claimant = this.#claimant;
    const taken = await this.#metrics.claim.run("Expired claims", () =>
      this.write((executor) => takeOverExpired(executor, claimant, limit, [...this.#held.keys()])),
    );
    this.#metrics.claimed(taken.length, taken.length);
    this.#hold(taken);
    return taken;
  }

  async endStalledHolders(expiredForMs: number): Promise<number> {
    return this.read((executor) => endStalledHolders(executor, this.indexerClass, expiredForMs), 0);
  }

  async readSettled(batchFilenames: readonly string[]) {
    return this.read((executor) => readSettledLedger(executor, this.indexerClass, batchFilenames), []);
  }

  async renewClaims(): Promise<readonly string[]> {
    const held = this.#heldClaims([...this.#held.keys()]);
    if (held.length === 0) return [];
    const renewed = new Set(
      await this.write((executor) => renewClaims(executor, this.indexerClass, this.#options.leaseMs, held)),
    );
    // A claim that ended or began meanwhile is none of this renewal's business.
    const lost = held.filter(
      ({ filename, claimVersion }) => !renewed.has(filename) && this.#held.get(filename) === claimVersion,
    );
    for (const { filename } of lost) this.#held.delete(filename);
    return lost.map(({ filename }) => filename);
  }

  async releaseClaims(
    batchFilenames: readonly string[],
    { tx, delayMs = 0 }: WriteOptions & { delayMs?: number } = {},
  ): Promise<void> {
    const held = this.#heldClaims(batchFilenames);
    if (held.length === 0) return;
    await this.write((executor) => releaseClaims(executor, this.indexerClass, held, delayMs), tx);
    this.#forget(batchFilenames);
  }

  async markCompleted(batchFilename: string, { tx }: WriteOptions = {}): Promise<void> {
    await this.#metrics.complete.run(`Batch: ${batchFilename}`, () =>
      this.#end(batchFilename, "completed", null, tx),
    );
  }

  async markCompletedMany(batchFilenames: readonly string[], { tx }: WriteOptions = {}): Promise<void> {
    const held = this.#heldClaims(batchFilenames);
    const ended = await this.#metrics.complete.run(`Batches: ${batchFilenames.length}`, () =>
      this.write((executor) => endClaims(executor, this.indexerClass, "completed", held), tx),
    );
    this.settleClaims(ended);
    const isEnded = new Set(ended);
    const lost = batchFilenames.find((filename) => !isEnded.has(filename));
    if (lost !== undefined) await this.#explainLoss(lost, "completed", tx);
  }

  async markFailed(batchFilename: string, error: string, { tx }: WriteOptions = {}): Promise<void> {
    await this.#metrics.fail.run(`Batch: ${batchFilename}`, () =>
      this.#end(batchFilename, "failed", error, tx),
    );
  }

  async lockClaims(steps: readonly ClaimStep[], { tx }: Required<WriteOptions>): Promise<readonly string[]> {
    return this.transaction((own) => lockClaims(own, this.indexerClass, steps), tx);
  }

  async advanceClaims(steps: readonly ClaimStep[], { tx }: Required<WriteOptions>): Promise<void> {
    const moved = new Set(await this.transaction((own) => advanceClaims(own, this.indexerClass, steps), tx));
    const lost = steps.find((step) => !moved.has(step.filename));
    if (lost)
      throw new ClaimLostError(
        lost.filename,
        `it is not at record ${lost.from} of claim ${lost.claimVersion}`,
      );
  }

  settleClaims(batchFilenames: readonly string[]): void {
    this.#metrics.batchesCompleted.increment(batchFilenames.length);
    this.#forget(batchFilenames);
  }

  async retryFailed(filter: FailedFilter, { tx }: WriteOptions = {}): Promise<readonly string[]> {
    return this.write((executor) => retryFailed(executor, this.indexerClass, filter), tx);
  }

  async listInstances() {
    return this.read((executor) => claimsByInstance(executor, this.indexerClass), []);
  }

  async getMaxCompletedTickEnd(): Promise<number> {
    return this.#metrics.maxTickEnd.run("", () =>
      this.read((executor) => maxCompletedTickEnd(executor, this.indexerClass), -1),
    );
  }

  async registerFiles(files: readonly KnownFile[], { tx }: WriteOptions = {}): Promise<readonly string[]> {
    for (const file of files) refuseBadBatch(file);
    return files.length === 0 ? [] : this.write((executor) => registerFiles(executor, files), tx);
  }

  async listUnclaimed(knownForMs: number, limit: number) {
    return this.read((executor) => unclaimedFiles(executor, this.indexerClass, knownForMs, limit), []);
  }

  async getLastKnownTick(): Promise<number> {
    return this.read(lastKnownTick, -1);
  }

  async reconcileGaps(expected: ExpectedRange): Promise<ReconciledGaps> {
    const { samplingInterval, start = 0, declaredEnd } = expected;
    refuseBadInterval(samplingInterval);
    const result = await this.transaction(async (tx, schema) => {
      await lockGaps(tx, schema);
      const reconciled = await reconcileGapRows(tx, this.indexerClass, {
        samplingInterval,
        start,
        declaredEnd: declaredEnd ?? null,
      });
      if (reconciled.unsummarised >= summariseFilesMin)
        await summariseFiles(tx, samplingInterval, summariseFilesMax);
      return reconciled;
    });
    this.#metrics.gapsPending = result.pending;
    this.#metrics.gapsReleased.increment(result.closed);
    return result;
  }

  async recordGap(gapStart: number, gapEnd: number): Promise<void> {
    refuseBadTicks(gapStart, gapEnd);
    await this.#metrics.recordGap.run(`Gap: [${gapStart}, ${gapEnd}]`, () =>
      this.#underGapLock((tx) => insertManualGap(tx, this.indexerClass, gapStart, gapEnd)),
    );
  }

  async getOldestPendingGap(): Promise<GapInfo | null> {
    return this.#metrics.oldestGap.run("", () =>
      this.read(async (executor) => (await oldestPendingGap(executor, this.indexerClass)) ?? null, null),
    );
  }

  async listGaps(limit = listGapsDefault, status?: GapInfo["status"]): Promise<readonly GapInfo[]> {
    return this.read((executor) => listGaps(executor, this.indexerClass, limit, status), []);
  }

  async isGapOlderThan(gapStart: number, ageMs: number): Promise<boolean> {
    return this.read((executor) => isGapOlderThan(executor, this.indexerClass, gapStart, ageMs), false);
  }

  async splitGap(
    oldGapStart: number,
    oldGapEnd: number,
    foundBatchStart: number,
    foundBatchEnd: number,
    samplingInterval: number,
  ): Promise<void> {
    refuseBadTicks(oldGapStart, oldGapEnd);
    refuseBadTicks(foundBatchStart, foundBatchEnd);
    refuseBadInterval(samplingInterval);
    const gap = { start: oldGapStart, end: oldGapEnd };
    const parts = partsAround(gap, { start: foundBatchStart, end: foundBatchEnd }, samplingInterval);
    const details = `Gap: [${oldGapStart}, ${oldGapEnd}], batch: [${foundBatchStart}, ${foundBatchEnd}]`;
    const isCut = await this.#metrics.splitGap.run(details, () =>
      this.#underGapLock((tx) => cutGap(tx, this.indexerClass, gap, parts)),
    );
    if (isCut) this.#metrics.gapsReleased.increment();
  }

  async markGapPermanent(gapStart: number): Promise<boolean> {
    return this.#metrics.gapPermanent.run(`Gap start: ${gapStart}`, () =>
      this.#underGapLock((tx) => setGapPermanent(tx, this.indexerClass, gapStart)),
    );
  }

  get #claimant() {
    const { leaseMs, instanceId } = this.#options;
    return { indexerClass: this.indexerClass, instanceId, leaseMs };
  }

  #underGapLock<T>(work: (tx: Parameters<typeof lockGaps>[0]) => Promise<T>): Promise<T> {
    return this.transaction(async (tx, schema) => {
      await lockGaps(tx, schema);
      return work(tx);
    });
  }

  #hold(granted: readonly GrantedClaim[]): void {
    for (const claim of granted) this.#held.set(claim.filename, claim.claimVersion);
  }

  #forget(filenames: readonly string[]): void {
    for (const filename of filenames) this.#held.delete(filename);
  }

  #heldClaims(filenames: readonly string[]) {
    return filenames.flatMap((filename) => {
      const claimVersion = this.#held.get(filename);
      return claimVersion === undefined ? [] : [{ filename, claimVersion }];
    });
  }

  async #end(
    filename: string,
    status: "completed" | "failed",
    error: string | null,
    tx: WriteOptions["tx"],
  ): Promise<void> {
    const held = this.#heldClaims([filename]);
    const ended = await this.write(
      (executor) => endClaims(executor, this.indexerClass, status, held, error),
      tx,
    );
    this.#forget([filename]);
    if (ended.length === 0) return this.#explainLoss(filename, status, tx);
    this.#metrics[status === "completed" ? "batchesCompleted" : "batchesFailed"].increment();
  }

  /** The holder's second word on a file changes nothing; anybody else's is an error. */
  async #explainLoss(
    filename: string,
    status: "completed" | "failed",
    tx: WriteOptions["tx"],
  ): Promise<void> {
    const [entry] = await this.write((executor) => readLedger(executor, this.indexerClass, [filename]), tx);
    if (entry?.status === status && entry.instanceId === this.instanceId) return;
    const reason = entry
      ? `it is ${entry.status} by ${entry.instanceId} with claim ${entry.claimVersion}`
      : "it was never claimed";
    throw new ClaimLostError(filename, reason);
  }
}

function refuseBadBatch({ filename, tickStart, tickEnd }: BatchToClaim): void {
  if (typeof filename !== "string" || filename === "" || filename.length > filenameCharactersMax) {
    throw new TallymanError(
      "INVALID_OPTION",
      `A batch file name has 1 to ${filenameCharactersMax} characters.`,
    );
  }
  refuseBadTicks(tickStart, tickEnd);
}

function refuseBadTicks(start: number, end: number): void {
  if (Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && end >= start) return;
  throw new TallymanError(
    "INVALID_OPTION",
    `[${start}, ${end}] is not a range of ticks: 0 ≤ start ≤ end, whole numbers.`,
    {
      details: { start, end },
    },
  );
}

function refuseBadInterval(samplingInterval: number): void {
  if (Number.isSafeInteger(samplingInterval) && samplingInterval > 0) return;
  throw new TallymanError(
    "INVALID_OPTION",
    `samplingInterval must be a positive whole number, not ${samplingInterval}.`,
  );
}
