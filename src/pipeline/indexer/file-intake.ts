import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import type { BatchInfo } from "../../contracts/index.ts";
import { TallymanError } from "../../errors/index.ts";
import { systemClock } from "../../runtime/index.ts";
import { batchNameOf } from "../../storage/index.ts";
import type { TopicMessage, TopicReader } from "../../topics/index.ts";
import type { Admission } from "./admission.ts";
import { orDeadLetter } from "./announcement.ts";
import type { FileReader } from "./file-reader.ts";
import { candidateOf, type FileCandidate, type FileChunk, type IndexedFile } from "./indexed-file.ts";
import type { Recovery } from "./recovery.ts";

/** Announcements that one poll takes: few, so that the other instances get their share. */
const messagesPerPoll = 4;
/** The share of an interval that is left to chance, so that instances do not sweep in step. */
const sweepJitter = 0.3;

/** Where files come from. */
export interface IntakeResources<Desc extends DescMessage> {
  readonly admission: Admission;
  readonly reader: FileReader<Desc>;
  /** Undefined: recovery is the only source. */
  readonly topic: TopicReader<BatchInfo> | undefined;
  /** Undefined: without a ledger there is nothing to recover by. */
  readonly recovery: Recovery | undefined;
  readonly gapIntervalMs: number;
  readonly sweepIntervalMs: number;
}

/**
 * Brings the next ticks: of the file that is being read, of a file that was missing, of a file that was
 * announced. In this order, so that what is missing comes before what is new.
 */
export class FileIntake<Desc extends DescMessage> {
  readonly #resources: IntakeResources<Desc>;
  /** Announcements that were polled and are not dealt with yet: an outage leaves them for the next turn. */
  #polled: readonly TopicMessage<BatchInfo>[] = [];
  #isQuiet = true;
  #nextGapSearchMs = 0;
  #nextSweepMs = 0;
  /** Whether recovery may bring more files before its next look. */
  #mayBeMore = false;

  constructor(resources: IntakeResources<Desc>) {
    this.#resources = resources;
  }

  /**
   * Waits up to `timeoutMs` for a chunk; undefined when none came.
   *
   * @throws FileReadError for a file that can't be read
   */
  async next(timeoutMs: number, signal: AbortSignal): Promise<FileChunk<MessageShape<Desc>> | undefined> {
    const { reader } = this.#resources;
    const chunk = await reader.next();
    if (chunk) return chunk;
    reader.enqueue(await this.#recover());
    const recovered = await reader.next();
    if (recovered) return recovered;
    reader.enqueue(await this.#receive(timeoutMs, signal));
    return reader.next();
  }

  async #recover(): Promise<readonly IndexedFile[]> {
    const { recovery, gapIntervalMs, sweepIntervalMs } = this.#resources;
    if (!recovery) return [];
    const nowMs = systemClock.monotonicMs();
    if (nowMs >= this.#nextGapSearchMs) {
      const found = await recovery.searchGaps();
      this.#nextGapSearchMs = nowMs + jittered(gapIntervalMs);
      if (found.length > 0) return found;
    }
    if (nowMs >= this.#nextSweepMs) {
      await recovery.look();
      this.#nextSweepMs = nowMs + jittered(sweepIntervalMs);
      this.#mayBeMore = true;
    }
    if (!this.#mayBeMore) return [];
    const { files, mayBeMore } = await recovery.take(this.#isQuiet);
    this.#mayBeMore = mayBeMore;
    return files;
  }

  async #receive(timeoutMs: number, signal: AbortSignal): Promise<readonly IndexedFile[]> {
    const { topic, admission } = this.#resources;
    const waitMs = Math.max(0, Math.min(timeoutMs, this.#msUntilRecovery()));
    if (!topic) {
      await systemClock.sleep(waitMs, signal);
      return [];
    }
    if (this.#polled.length === 0) this.#polled = await topic.pollMany(messagesPerPoll, waitMs, signal);
    this.#isQuiet = this.#polled.length === 0;
    const candidates: FileCandidate[] = [];
    for (const message of this.#polled) {
      const candidate = await orDeadLetter(topic, message, announcedFile);
      if (candidate) candidates.push(candidate);
      else this.#polled = this.#polled.filter((each) => each !== message);
    }
    const admitted = await admission.admit(candidates);
    this.#polled = [];
    return admitted;
  }

  /** Hands back what was polled and not admitted. */
  async giveBack(): Promise<void> {
    const polled = this.#polled;
    this.#polled = [];
    for (const message of polled) await this.#resources.admission.handBack(message, 0);
  }

  #msUntilRecovery(): number {
    const { recovery } = this.#resources;
    if (!recovery) return Number.POSITIVE_INFINITY;
    if (this.#mayBeMore) return 0;
    return Math.min(this.#nextGapSearchMs, this.#nextSweepMs) - systemClock.monotonicMs();
  }
}

/**
 * What a message announces. What it says is not believed: a key that leads elsewhere, or to another run, would
 * put ticks that nobody wrote among those that are expected.
 *
 * @throws TallymanError TOPIC_PAYLOAD_INVALID; STORAGE_KEY_INVALID; BATCH_INVALID for a file of another run or
 * of other ticks
 */
function announcedFile(message: TopicMessage<BatchInfo>): FileCandidate {
  const { storageKey, tickStart, tickEnd, bytes, crc } = message.payload;
  const name = batchNameOf(storageKey);
  const isSame =
    name.runId === message.runId && name.tickStart === Number(tickStart) && name.tickEnd === Number(tickEnd);
  if (!isSame) {
    throw new TallymanError(
      "BATCH_INVALID",
      `'${storageKey}' is no batch file of run ${message.runId}, ticks ${tickStart} to ${tickEnd}.`,
      { details: { storageKey } },
    );
  }
  const isSize = bytes > 0n && bytes <= Number.MAX_SAFE_INTEGER;
  const size = { ...(isSize && { bytes: Number(bytes) }), ...(crc > 0 && { crc }) };
  return { ...candidateOf(name), ...size, message };
}

function jittered(intervalMs: number): number {
  return intervalMs * (1 - sweepJitter * Math.random());
}
