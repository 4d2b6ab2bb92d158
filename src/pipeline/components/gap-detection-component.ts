import type {
  BatchCoordinatorReady,
  ExpectedRange,
  GapInfo,
  ReconciledGaps,
} from "../../coordination/index.ts";
import { Counter } from "../../monitoring/index.ts";
import { type GivenOptions, logger, resolveOptions } from "../../runtime/index.ts";
import type { BatchFileName, BatchStorage } from "../../storage/index.ts";
import { candidateOf } from "../indexer/indexed-file.ts";
import { GapRound } from "./gap-round.ts";

const log = logger("pipeline.gap-detection");

/** Work of one turn at most: gaps that are searched, and files taken from each search. */
const gapsPerTurnMax = 10;
const filesPerGapMax = 100;

/** Settings of the search. */
export interface GapDetectionOptions {
  /** How long a gap is searched before it is given up as permanent. Default 60 s. */
  readonly gapWarningTimeoutMs: number;
}

/**
 * Finds what is missing: derives the gaps from the manifest, searches storage for files that were never
 * announced, gap after gap in tick order, and gives up what stays missing too long, with one warning. Belongs
 * to one indexer instance; many instances may search at once and agree.
 *
 * @example
 * ```ts
 * const gapDetection = new GapDetectionComponent(coordinator.setIndexerClass("DummyIndexer"), storage);
 * await gapDetection.reconcile({ samplingInterval: 10 });
 * const found = await gapDetection.search("run-1", { samplingInterval: 10 });
 * ```
 */
export class GapDetectionComponent {
  readonly #coordinator: BatchCoordinatorReady;
  readonly #storage: Pick<BatchStorage, "listBatchFiles">;
  readonly #options: Readonly<GapDetectionOptions>;
  readonly #pending: GapRound;
  readonly #permanentGaps = new Counter();

  constructor(
    coordinator: BatchCoordinatorReady,
    storage: Pick<BatchStorage, "listBatchFiles">,
    options: GivenOptions<GapDetectionOptions> = {},
  ) {
    this.#coordinator = coordinator;
    this.#storage = storage;
    this.#pending = new GapRound(coordinator, "pending", gapsPerTurnMax);
    this.#options = resolveOptions<GapDetectionOptions>({ gapWarningTimeoutMs: 60_000 }, options);
  }

  /** Gaps that this instance gave up. */
  getPermanentGapsDetected(): number {
    return this.#permanentGaps.value;
  }

  /** Brings the recorded gaps in line with what is known. */
  async reconcile(expected: ExpectedRange): Promise<ReconciledGaps> {
    const gaps = await this.#coordinator.reconcileGaps(expected);
    const { opened, closed, pending } = gaps;
    if (opened > 0 || closed > 0) log.debug("Gaps have changed", { opened, closed, pending });
    return gaps;
  }

  /**
   * One turn of the search; the next goes on behind it. Files that were found are in the manifest afterwards and
   * their gaps are closed: claim them next.
   *
   * @param prefix the run's id, or what the keys of the files that are looked for begin with
   * @returns the files that were found, the oldest first
   */
  async search(prefix: string, expected: ExpectedRange): Promise<readonly BatchFileName[]> {
    const found: BatchFileName[] = [];
    for (const gap of await this.#pending.next()) {
      found.push(...(await this.#searchGap(prefix, gap)));
    }
    if (found.length > 0) await this.#register(found, expected);
    return found;
  }

  async #searchGap(prefix: string, gap: GapInfo): Promise<readonly BatchFileName[]> {
    const { gapStartTick, gapEndTick } = gap;
    // Asked before the listing: only one that began past the deadline may end the search.
    const isOverdue = await this.#coordinator.isGapOlderThan(gapStartTick, this.#options.gapWarningTimeoutMs);
    const { files } = await this.#storage.listBatchFiles(
      prefix,
      undefined,
      filesPerGapMax,
      gapStartTick,
      gapEndTick,
    );
    if (files.length === 0 && isOverdue) await this.#giveUp(gap);
    return files;
  }

  async #register(files: readonly BatchFileName[], expected: ExpectedRange): Promise<void> {
    await this.#coordinator.registerFiles(files.map(candidateOf));
    await this.reconcile(expected);
    log.debug("Found files in gaps", { files: files.length, first: files[0]?.key });
  }

  async #giveUp({ gapStartTick, gapEndTick }: GapInfo): Promise<void> {
    if (!(await this.#coordinator.markGapPermanent(gapStartTick))) return;
    this.#permanentGaps.increment();
    const seconds = this.#options.gapWarningTimeoutMs / 1000;
    log.warn(
      `Permanent gap: [${gapStartTick}, ${gapEndTick}] missing for more than ${seconds} s. Data incomplete.`,
    );
  }
}
