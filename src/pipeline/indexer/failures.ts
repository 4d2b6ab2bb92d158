import { create, toBinary } from "@bufbuild/protobuf";
import { type BatchInfo, BatchInfoSchema } from "../../contracts/index.ts";
import type { BatchCoordinatorReady } from "../../coordination/index.ts";
import type { Database, Transaction } from "../../database/index.ts";
import { toTallymanError } from "../../errors/index.ts";
import { backoffMs, logger } from "../../runtime/index.ts";
import type { TopicReader } from "../../topics/index.ts";
import type { DlqComponent } from "../components/dlq-component.ts";
import type { DeadLetterQueue } from "../dead-letter-queue.ts";
import { type Admission, ignoreStale } from "./admission.ts";
import type { IndexedFile } from "./indexed-file.ts";

const log = logger("pipeline.failures");
const retryDelayMsMax = 60_000;

/** What a failure touches. */
export interface FailureResources {
  readonly serviceName: string;
  readonly database: Database;
  readonly admission: Admission;
  readonly coordinator: BatchCoordinatorReady | undefined;
  readonly topic: TopicReader<BatchInfo> | undefined;
  readonly dlq: DlqComponent | undefined;
  readonly deadLetters: DeadLetterQueue | undefined;
  readonly maxRetries: number;
  readonly retryDelayMs: number;
}

/**
 * What becomes of a file that can't be indexed. With a dead-letter queue: tried again a few times, later
 * each time, by whichever instance gets it; then given up, in one transaction with its announcement.
 * Without one: tried again for ever, and the service ends in ERROR when the same file keeps failing here.
 */
export class Failures {
  readonly #resources: FailureResources;
  /** Failures of files at this instance, for want of a shared count. */
  readonly #here = new Map<string, number>();

  constructor(resources: FailureResources) {
    this.#resources = resources;
  }

  /**
   * Deals with a file that failed; it is no longer this instance's afterwards.
   *
   * @throws the error itself when there is no dead-letter queue and the file failed too often
   */
  async fail(file: IndexedFile, error: unknown): Promise<"retried" | "moved"> {
    const { dlq, admission } = this.#resources;
    const failures = this.#countHere(file);
    const reason = toTallymanError(error).message;
    admission.files.delete(file.filename);
    if (dlq && (await dlq.shouldMoveToDlq(file.storageKey)) && (await this.#moveToDlq(dlq, file, error))) {
      this.#here.delete(file.storageKey);
      log.warn(`Moved to the dead letters: ${file.storageKey}: ${reason}`);
      return "moved";
    }
    log.warn(`Failed to index ${file.storageKey}: ${reason}`);
    await this.#handBack(file, this.#delayMs(failures));
    if (!dlq && failures > this.#resources.maxRetries) throw error;
    return "retried";
  }

  /** The file was indexed after all. */
  async succeeded(file: IndexedFile): Promise<void> {
    this.#here.delete(file.storageKey);
    const wasTriedBefore = file.claimVersion > 1 || (file.message?.deliveries ?? 1) > 1;
    if (wasTriedBefore) await this.#resources.dlq?.resetRetryCount(file.storageKey);
  }

  #countHere({ storageKey }: IndexedFile): number {
    const failures = (this.#here.get(storageKey) ?? 0) + 1;
    this.#here.set(storageKey, failures);
    return failures;
  }

  #delayMs(failures: number): number {
    const { retryDelayMs } = this.#resources;
    return backoffMs(failures, { initialMs: retryDelayMs, maxMs: retryDelayMsMax, factor: 2, jitter: 0.2 });
  }

  async #handBack(file: IndexedFile, delayMs: number): Promise<void> {
    const { coordinator, admission } = this.#resources;
    await coordinator?.releaseClaims([file.filename], { delayMs });
    await admission.handBack(file.message, delayMs);
  }

  /** False when it could not be moved: then nothing is settled, and it will come again. */
  async #moveToDlq(dlq: DlqComponent, file: IndexedFile, error: unknown): Promise<boolean> {
    try {
      await dlq.refuseWhenFull();
      await this.#settle(file, error, await dlq.getRetryCount(file.storageKey));
      await dlq.moved(file.storageKey);
      return true;
    } catch (cause) {
      log.warn(
        `Not moved to the dead letters, trying again: ${file.storageKey}: ${toTallymanError(cause).message}`,
      );
      return false;
    }
  }

  /** Where topic and ledger share a database, both end in one transaction; elsewhere the letter comes first. */
  async #settle(file: IndexedFile, error: unknown, retryCount: number): Promise<void> {
    const { database, coordinator, topic, serviceName: sourceService } = this.#resources;
    const letter = { error, sourceService, retryCount };
    const markFailed = (tx?: Transaction) =>
      coordinator?.markFailed(file.filename, toTallymanError(error).message, tx ? { tx } : {});
    if (file.message && topic && !topic.capabilities.transactionalAck) {
      await ignoreStale(topic.deadLetter(file.message, letter));
      await markFailed();
      return;
    }
    await database.transaction(async (tx) => {
      await markFailed(tx);
      if (file.message) await ignoreStale(topic?.deadLetter(file.message, { ...letter, tx }));
      // With a topic, the announcement that is still on its way becomes the letter.
      if (!topic) await this.#resources.deadLetters?.put(announcementOf(file), letter, tx);
    });
    coordinator?.settleClaims([file.filename], "failed");
  }
}

/** What the announcement of a file would have been, for one that came without. */
function announcementOf({ storageKey, tickStart, tickEnd, bytes, crc }: IndexedFile) {
  const info = create(BatchInfoSchema, {
    simulationRunId: storageKey.slice(0, storageKey.indexOf("/")),
    storageKey,
    tickStart: BigInt(tickStart),
    tickEnd: BigInt(tickEnd),
    bytes: BigInt(bytes ?? 0),
    crc: crc ?? 0,
  });
  return { bytes: toBinary(BatchInfoSchema, info), messageType: BatchInfoSchema.typeName };
}
