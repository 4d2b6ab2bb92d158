import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import type { BatchInfo } from "../../contracts/index.ts";
import { isTallymanError } from "../../errors/index.ts";
import { logger, systemClock } from "../../runtime/index.ts";
import type { TopicMessage, TopicReader } from "../../topics/index.ts";
import type { Admission } from "./admission.ts";
import type { FileReader } from "./file-reader.ts";
import { type FileCandidate, type FileChunk, filenameOf, type IndexedFile } from "./indexed-file.ts";
import { Recovery } from "./recovery.ts";

const log = logger("pipeline.intake");

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
  #isQuiet = true;
  #nextGapSearchMs = 0;
  #nextSweepMs = 0;

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
    if (nowMs < this.#nextSweepMs) return [];
    const swept = await recovery.sweep(this.#isQuiet);
    if (!Recovery.mayHaveMore(swept)) this.#nextSweepMs = nowMs + jittered(sweepIntervalMs);
    return swept;
  }

  async #receive(timeoutMs: number, signal: AbortSignal): Promise<readonly IndexedFile[]> {
    const { topic, admission } = this.#resources;
    const waitMs = Math.max(0, Math.min(timeoutMs, this.#msUntilRecovery()));
    if (!topic) {
      await systemClock.sleep(waitMs, signal);
      return [];
    }
    const messages = await topic.pollMany(messagesPerPoll, waitMs, signal);
    this.#isQuiet = messages.length === 0;
    const candidates: FileCandidate[] = [];
    for (const message of messages) candidates.push(...(await this.#candidateOf(message)));
    return admission.admit(candidates);
  }

  /** A payload that is no announcement can't be indexed by anybody, now or later. */
  async #candidateOf(message: TopicMessage<BatchInfo>): Promise<FileCandidate[]> {
    try {
      const { storageKey, tickStart, tickEnd, bytes, crc } = message.payload;
      const range = { tickStart: Number(tickStart), tickEnd: Number(tickEnd) };
      const size = { ...(bytes > 0n && { bytes: Number(bytes) }), ...(crc > 0 && { crc }) };
      return [{ filename: filenameOf(storageKey), storageKey, ...range, ...size, message }];
    } catch (error) {
      if (!isTallymanError(error, "TOPIC_PAYLOAD_INVALID")) throw error;
      log.warn(
        `Moved to the dead letters: message ${message.position} of ${message.topic}: ${error.message}`,
      );
      await this.#resources.topic?.deadLetter(message, { error, sourceService: message.group });
      return [];
    }
  }

  #msUntilRecovery(): number {
    const { recovery } = this.#resources;
    if (!recovery) return Number.POSITIVE_INFINITY;
    return Math.min(this.#nextGapSearchMs, this.#nextSweepMs) - systemClock.monotonicMs();
  }
}

function jittered(intervalMs: number): number {
  return intervalMs * (1 - sweepJitter * Math.random());
}
