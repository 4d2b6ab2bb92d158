import type { BatchInfo } from "../../contracts/index.ts";
import type { BatchCoordinatorReady } from "../../coordination/index.ts";
import { Counter } from "../../monitoring/index.ts";
import { logger } from "../../runtime/index.ts";
import { StaleMessageError, type TopicMessage, type TopicReader } from "../../topics/index.ts";
import type { IdempotencyComponent } from "../components/idempotency-component.ts";
import type { FileCandidate, IndexedFile } from "./indexed-file.ts";

const log = logger("pipeline.admission");

/** A file that another instance holds is looked at again after this long. */
const heldElsewhereDelayMs = 2_000;
/** A file that was claimed without being registered: nobody can read it, and it must not hold up the others. */
const unregisteredDelayMs = 60_000;

/** What admission asks. */
export interface AdmissionResources {
  readonly coordinator: BatchCoordinatorReady | undefined;
  readonly topic: TopicReader<BatchInfo> | undefined;
  readonly idempotency: IdempotencyComponent | undefined;
}

/**
 * Decides which files this instance works on: those that the ledger grants it. Announcements of files
 * that are done are acknowledged unread; of files that another instance holds, handed back for later.
 */
export class Admission {
  readonly #resources: AdmissionResources;
  /** The files that this instance has, by name, from claim to commit. */
  readonly files: Map<string, IndexedFile> = new Map();
  /** Files that were entered so far. */
  readonly claimed: Counter = new Counter();

  constructor(resources: AdmissionResources) {
    this.#resources = resources;
  }

  /** Enters and claims files; returns those that are now ours. */
  async admit(candidates: readonly FileCandidate[]): Promise<readonly IndexedFile[]> {
    const fresh = new Map<string, FileCandidate>();
    for (const candidate of candidates) {
      const known = this.files.get(candidate.filename);
      if (known) await this.#attach(known, candidate.message);
      else if (fresh.has(candidate.filename)) await this.handBack(candidate.message, heldElsewhereDelayMs);
      else if (await this.#resources.idempotency?.isProcessed(candidate.storageKey))
        await this.acknowledge(candidate.message);
      else fresh.set(candidate.filename, candidate);
    }
    return this.#claim([...fresh.values()]);
  }

  /** Takes over what dead instances left. */
  async takeOver(limit: number): Promise<readonly IndexedFile[]> {
    const { coordinator } = this.#resources;
    const taken = (await coordinator?.takeOverExpired(limit)) ?? [];
    const files = taken.flatMap(({ storageKey, crc, ...file }) =>
      storageKey === null ? [] : [{ ...file, storageKey, message: undefined, ...(crc !== null && { crc }) }],
    );
    const entered = files.map((file) => this.#enter(file));
    const unregistered = taken
      .filter(({ storageKey }) => storageKey === null)
      .map(({ filename }) => filename);
    await coordinator
      ?.releaseClaims(unregistered, { delayMs: unregisteredDelayMs })
      .catch((error: unknown) => log.debug("Claims not given back, they run out", { reason: String(error) }));
    return entered;
  }

  /** The message is done. A stale one is somebody else's, who will find the file done. */
  async acknowledge(message: TopicMessage<BatchInfo> | undefined): Promise<void> {
    if (message) await ignoreStale(this.#resources.topic?.ack(message));
  }

  /** Hands a message back for later. */
  async handBack(message: TopicMessage<BatchInfo> | undefined, delayMs: number): Promise<void> {
    if (message) await ignoreStale(this.#resources.topic?.nack(message, { delayMs }));
  }

  async #claim(candidates: readonly FileCandidate[]): Promise<readonly IndexedFile[]> {
    const { coordinator } = this.#resources;
    if (candidates.length === 0) return [];
    if (!coordinator)
      return candidates.map((file) => this.#enter({ ...unfenced, ...file, message: file.message }));
    await coordinator.registerFiles(candidates);
    const { granted, refused } = await coordinator.tryClaimMany(candidates);
    const byName = new Map(candidates.map((candidate) => [candidate.filename, candidate]));
    for (const { filename, status } of refused)
      await this.#refuse(byName.get(filename)?.message, status).catch(leaveForLater);
    return granted.flatMap((claim) => {
      const candidate = byName.get(claim.filename);
      return candidate ? [this.#enter({ ...candidate, ...claim, message: candidate.message })] : [];
    });
  }

  /** Another instance's: for later. Done: acknowledged. Failed: it joins the dead letters, if it is not of them. */
  async #refuse(
    message: TopicMessage<BatchInfo> | undefined,
    status: "claimed" | "completed" | "failed",
  ): Promise<void> {
    const { topic } = this.#resources;
    if (!message || !topic) return;
    if (status === "claimed") return this.handBack(message, heldElsewhereDelayMs);
    if (status === "completed") return this.acknowledge(message);
    const error = "The file failed before; see the ledger.";
    await ignoreStale(topic.deadLetter(message, { error, sourceService: topic.group }));
  }

  #enter(file: IndexedFile): IndexedFile {
    const own = { ...file };
    this.files.set(file.filename, own);
    this.claimed.increment();
    const { storageKey, tickStart, tickEnd, resumeAt } = file;
    log.debug("Claimed a file", { storageKey, tickStart, tickEnd, resumeAt });
    return own;
  }

  /** A file that we hold already was announced again: its newest delivery is the one to acknowledge. */
  async #attach(file: IndexedFile, message: TopicMessage<BatchInfo> | undefined): Promise<void> {
    if (!message) return;
    if (file.message && file.message.position !== message.position)
      await this.handBack(message, heldElsewhereDelayMs);
    else file.message = message;
  }
}

/** A message that could not be settled comes again; the files that were granted must not suffer for it. */
function leaveForLater(error: unknown): void {
  log.debug("A refused message was not settled, it will be delivered again", { reason: String(error) });
}

/** What stands in for a claim when there is no ledger. */
const unfenced = { claimVersion: 0, resumeAt: 0 };

/** A message that is no longer ours is delivered to another consumer, who settles it. */
export async function ignoreStale(settling: Promise<void> | undefined): Promise<void> {
  await settling?.catch((error: unknown) => {
    if (!(error instanceof StaleMessageError)) throw error;
    log.debug("A message was no longer ours", { reason: error.message });
  });
}
