import { randomUUID } from "node:crypto";
import type { Database } from "../database/index.ts";
import { TallymanError } from "../errors/index.ts";
import { type GivenOptions, resolveOptions } from "../runtime/index.ts";
import type {
  BatchCoordinator,
  BatchCoordinatorReady,
  ClaimResult,
  WriteOptions,
} from "./batch-coordinator.ts";
import { DatabaseGapMap } from "./database-gap-map.ts";
import { BatchAlreadyClaimedError, ClaimLostError } from "./errors.ts";
import { refuseBadBatch } from "./refuse-bad-batch.ts";
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
import { type KnownFile, lastKnownTick, registerFiles, unclaimedFiles } from "./sql/manifest.ts";
import { claimsByInstance } from "./sql/tick-account.ts";

/** Settings of a coordinator. */
export interface BatchCoordinatorOptions {
  /** How long a claim is held without renewal. Default 60 s. */
  readonly leaseMs: number;
  /** Names this instance in the ledger; unique among those that run. Default a random one. */
  readonly instanceId: string;
  /** Window of the rates and latency percentiles. Default: the database's. */
  readonly metricsWindowSeconds: number;
}

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
class DatabaseBatchCoordinator extends DatabaseGapMap implements BatchCoordinator, BatchCoordinatorReady {
  readonly #options: Readonly<BatchCoordinatorOptions>;
  /** Claim versions of the files that this instance holds. */
  readonly #held = new Map<string, number>();
  #indexerClass: string | undefined;

  constructor(database: Database, options: GivenOptions<BatchCoordinatorOptions>) {
    const { metricsWindowSeconds } = database;
    const defaults = { leaseMs: 60_000, instanceId: randomUUID(), metricsWindowSeconds };
    const resolved = resolveOptions<BatchCoordinatorOptions>(defaults, options);
    super(database, resolved.metricsWindowSeconds);
    this.#options = resolved;
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

  override get indexerClass(): string {
    if (this.#indexerClass !== undefined) return this.#indexerClass;
    throw new TallymanError("INVALID_STATE", "No indexer class is set: call setIndexerClass() first.");
  }

  get instanceId(): string {
    return this.#options.instanceId;
  }

  get leaseMs(): number {
    return this.#options.leaseMs;
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
    const result = await this.metrics.claim.run(details, () =>
      this.write((executor) => claimBatches(executor, claimant, batches), tx),
    );
    this.metrics.claimed(result.granted.length + result.refused.length, result.granted.length);
    this.#hold(result.granted);
    return result;
  }

  async takeOverExpired(limit: number) {
    const claimant = this.#claimant;
    const taken = await this.metrics.claim.run("Expired claims", () =>
      this.write((executor) => takeOverExpired(executor, claimant, limit, [...this.#held.keys()])),
    );
    this.metrics.claimed(taken.length, taken.length);
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
    // Before the statement: a claim that could not be released must not be renewed, but run out.
    this.#forget(batchFilenames);
    await this.write((executor) => releaseClaims(executor, this.indexerClass, held, delayMs), tx);
  }

  async markCompleted(batchFilename: string, { tx }: WriteOptions = {}): Promise<void> {
    await this.metrics.complete.run(`Batch: ${batchFilename}`, () =>
      this.#end(batchFilename, "completed", null, tx),
    );
  }

  async markCompletedMany(batchFilenames: readonly string[], { tx }: WriteOptions = {}): Promise<void> {
    const held = this.#heldClaims(batchFilenames);
    const ended = await this.metrics.complete.run(`Batches: ${batchFilenames.length}`, () =>
      this.write((executor) => endClaims(executor, this.indexerClass, "completed", held), tx),
    );
    if (!tx) this.settleClaims(ended);
    const isEnded = new Set(ended);
    const lost = batchFilenames.find((filename) => !isEnded.has(filename));
    if (lost !== undefined) await this.#explainLoss(lost, "completed", tx);
  }

  async markFailed(batchFilename: string, error: string, { tx }: WriteOptions = {}): Promise<void> {
    await this.metrics.fail.run(`Batch: ${batchFilename}`, () =>
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

  settleClaims(batchFilenames: readonly string[], status: "completed" | "failed" = "completed"): void {
    this.metrics[status === "completed" ? "batchesCompleted" : "batchesFailed"].increment(
      batchFilenames.length,
    );
    this.#forget(batchFilenames);
  }

  async retryFailed(filter: FailedFilter, { tx }: WriteOptions = {}): Promise<readonly string[]> {
    return this.write((executor) => retryFailed(executor, this.indexerClass, filter), tx);
  }

  async listInstances() {
    return this.read((executor) => claimsByInstance(executor, this.indexerClass), []);
  }

  async getMaxCompletedTickEnd(): Promise<number> {
    return this.metrics.maxTickEnd.run("", () =>
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

  get #claimant() {
    const { leaseMs, instanceId } = this.#options;
    return { indexerClass: this.indexerClass, instanceId, leaseMs };
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
    // A caller's transaction may be rolled back and run again: the claim is held until it is told of the commit.
    if (!tx) {
      this.settleClaims(ended, status);
      this.#forget([filename]);
    }
    if (ended.length === 0) return this.#explainLoss(filename, status, tx);
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
