import type { Database } from "../database/index.ts";
import type { ExpectedRange } from "./batch-coordinator.ts";
import { CoordinatorMetrics } from "./coordinator-metrics.ts";
import { DatabaseCapability } from "./database-capability.ts";
import { refuseBadInterval, refuseBadTicks } from "./refuse-bad-batch.ts";
import { partsAround } from "./split-gap.ts";
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
import { type ReconciledGaps, reconcileGapRows, summariseFiles } from "./sql/reconcile-gaps.ts";

/** Folding files away pays off from here on; below, reading them again is cheaper than marking them. */
const summariseFilesMin = 1_000;
const summariseFilesMax = 10_000;
const listGapsDefault = 1_000;

/** The coordinator's map of gaps: which expected ticks no known file covers, for one indexer class. */
export abstract class DatabaseGapMap extends DatabaseCapability {
  protected readonly metrics: CoordinatorMetrics;

  constructor(database: Database, metricsWindowSeconds: number) {
    super(database);
    this.metrics = new CoordinatorMetrics(this.errors, metricsWindowSeconds);
  }

  abstract get indexerClass(): string;

  override getMetrics(): Readonly<Record<string, number>> {
    return { ...super.getMetrics(), ...this.metrics.values };
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
    this.metrics.gapsPending = result.pending;
    this.metrics.gapsReleased.increment(result.closed);
    return result;
  }

  async recordGap(gapStart: number, gapEnd: number): Promise<void> {
    refuseBadTicks(gapStart, gapEnd);
    await this.metrics.recordGap.run(`Gap: [${gapStart}, ${gapEnd}]`, () =>
      this.#underGapLock((tx) => insertManualGap(tx, this.indexerClass, gapStart, gapEnd)),
    );
  }

  async getOldestPendingGap(): Promise<GapInfo | null> {
    return this.metrics.oldestGap.run("", () =>
      this.read(async (executor) => (await oldestPendingGap(executor, this.indexerClass)) ?? null, null),
    );
  }

  async listGaps(
    limit = listGapsDefault,
    status?: GapInfo["status"],
    after?: number,
  ): Promise<readonly GapInfo[]> {
    return this.read((executor) => listGaps(executor, this.indexerClass, { limit, status, after }), []);
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
    const isCut = await this.metrics.splitGap.run(details, () =>
      this.#underGapLock((tx) => cutGap(tx, this.indexerClass, gap, parts)),
    );
    if (isCut) this.metrics.gapsReleased.increment();
  }

  async markGapPermanent(gapStart: number): Promise<boolean> {
    return this.metrics.gapPermanent.run(`Gap start: ${gapStart}`, () =>
      this.#underGapLock((tx) => setGapPermanent(tx, this.indexerClass, gapStart)),
    );
  }

  #underGapLock<T>(work: (tx: Parameters<typeof lockGaps>[0]) => Promise<T>): Promise<T> {
    return this.transaction(async (tx, schema) => {
      await lockGaps(tx, schema);
      return work(tx);
    });
  }
}
