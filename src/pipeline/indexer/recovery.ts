import type { BatchCoordinatorReady, ExpectedRange, UnclaimedFile } from "../../coordination/index.ts";
import { Counter } from "../../monitoring/index.ts";
import { logger } from "../../runtime/index.ts";
import type { BatchStorage } from "../../storage/index.ts";
import type { GapDetectionComponent } from "../components/gap-detection-component.ts";
import { GapRound } from "../components/gap-round.ts";
import type { MetadataReadingComponent } from "../components/metadata-reading-component.ts";
import type { Admission } from "./admission.ts";
import { candidateOf, type IndexedFile } from "./indexed-file.ts";

const log = logger("pipeline.recovery");

/** Files that one turn takes on: few, so that the other instances get their share. */
const filesPerTurnMax = 4;
const listingPageFiles = 1_000;
/** Finding unclaimed files costs more the more files are done, so it finds many at a time. */
const unclaimedPerListing = 200;
/** Permanent gaps that one sweep looks into, in case their file came after all. */
const permanentGapsPerSweep = 10;
/** A known file is left to its announcement for this long: while the topic is quiet, and while it is busy. */
const quietGraceMs = 2_000;
const busyGraceMs = 60_000;

/** What recovery looks at. */
export interface RecoveryResources {
  readonly runId: string;
  readonly coordinator: BatchCoordinatorReady;
  readonly storage: BatchStorage;
  readonly admission: Admission;
  readonly gapDetection: GapDetectionComponent | undefined;
  readonly metadata: MetadataReadingComponent | undefined;
  /** What the keys of the files that are looked for begin with. */
  readonly prefix: string;
  /** How long a connection may hold a file past its lease before it is ended. */
  readonly stalledAfterMs: number;
  /** False when files come by topic, and recovery should leave them to it for a while. */
  readonly isOnlySource: boolean;
}

/**
 * Finds what no announcement brings: files in gaps, files behind the last known one, files that were
 * found for another indexer class, and files of dead instances. Every instance does it, a few files at a
 * time; the ledger decides who gets which.
 */
export class Recovery {
  readonly #resources: RecoveryResources;
  /** Files that came to this instance without an announcement. */
  readonly recovered = new Counter();
  /** Listed, and not yet asked for; another instance may have them by then. */
  #unclaimed: UnclaimedFile[] = [];
  readonly #permanentGaps: GapRound;

  constructor(resources: RecoveryResources) {
    this.#resources = resources;
    this.#permanentGaps = new GapRound(resources.coordinator, "permanent", permanentGapsPerSweep);
  }

  /** Searches the gaps, a few at a time; returns the files found there that are now ours. */
  async searchGaps(): Promise<readonly IndexedFile[]> {
    const { gapDetection, prefix, admission } = this.#resources;
    if (!gapDetection) return [];
    const expected = this.#expected();
    await gapDetection.reconcile(expected);
    const found = await gapDetection.search(prefix, expected);
    return this.#count(await admission.admit(found.slice(0, filesPerTurnMax).map(candidateOf)));
  }

  /** Enters what storage has and nobody announced, and ends what has stalled: the costly part, once per interval. */
  async look(): Promise<void> {
    const { coordinator, metadata, runId, stalledAfterMs } = this.#resources;
    await metadata?.refresh(runId);
    await this.#enterUnknown();
    const ended = await coordinator.endStalledHolders(stalledAfterMs);
    if (ended > 0) log.warn(`Ended ${ended} stalled connections that locked files past their lease.`);
  }

  /**
   * Takes on a few files: those of dead instances, then those that nobody of this class ever claimed.
   *
   * @param isQuiet whether the topic has nothing to deliver
   * @returns the files that are now ours, and whether another call may bring more
   */
  async take(isQuiet: boolean): Promise<{ files: readonly IndexedFile[]; mayBeMore: boolean }> {
    const { admission, coordinator } = this.#resources;
    if (this.#unclaimed.length === 0) {
      const taken = await admission.takeOver(filesPerTurnMax);
      if (taken.length > 0) return { files: this.#count(taken), mayBeMore: true };
      this.#unclaimed = [...(await coordinator.listUnclaimed(this.#graceMs(isQuiet), unclaimedPerListing))];
    }
    const chosen = this.#unclaimed.splice(0, filesPerTurnMax);
    const candidates = chosen.map(({ crc, ...file }) => ({ ...file, ...(crc !== null && { crc }) }));
    return { files: this.#count(await admission.admit(candidates)), mayBeMore: chosen.length > 0 };
  }

  #graceMs(isQuiet: boolean): number {
    if (this.#resources.isOnlySource) return 0;
    return isQuiet ? quietGraceMs : busyGraceMs;
  }

  #count(files: readonly IndexedFile[]): readonly IndexedFile[] {
    this.recovered.increment(files.length);
    return files;
  }

  #expected(): ExpectedRange {
    const { metadata } = this.#resources;
    const declaredEnd = metadata?.getMetadata().declaredEndTick;
    return {
      samplingInterval: metadata?.getSamplingInterval() ?? 1,
      declaredEnd: declaredEnd === undefined ? undefined : Number(declaredEnd),
    };
  }

  /** Enters the files that storage has and the manifest lacks: behind the last known tick and in given-up gaps. */
  async #enterUnknown(): Promise<void> {
    const { coordinator, gapDetection } = this.#resources;
    if (!gapDetection) return this.#enterRange(0, Number.MAX_SAFE_INTEGER);
    const lastKnown = await coordinator.getLastKnownTick();
    if (lastKnown < Number.MAX_SAFE_INTEGER) await this.#enterRange(lastKnown + 1, Number.MAX_SAFE_INTEGER);
    for (const gap of await this.#permanentGaps.next())
      await this.#enterRange(gap.gapStartTick, gap.gapEndTick);
  }

  async #enterRange(startTick: number, endTick: number): Promise<void> {
    const { coordinator, storage, prefix } = this.#resources;
    for (let token: string | undefined; ; ) {
      const page = await storage.listBatchFiles(prefix, token, listingPageFiles, startTick, endTick);
      const entered = await coordinator.registerFiles(page.files.map(candidateOf));
      if (entered.length > 0) log.debug("Found files that were not announced", { files: entered.length });
      if (!page.truncated) return;
      token = page.nextToken;
    }
  }
}
