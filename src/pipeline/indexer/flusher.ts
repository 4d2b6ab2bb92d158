import type { BatchInfo } from "../../contracts/index.ts";
import {
  type BatchCoordinatorReady,
  ClaimLostError,
  type ClaimStep,
  type LedgerEntry,
} from "../../coordination/index.ts";
import type { Database, Transaction } from "../../database/index.ts";
import { pipelined, runSchemaName } from "../../database/index.ts";
import { isTallymanError } from "../../errors/index.ts";
import { crashPoint } from "../../runtime/index.ts";
import type { TopicMessage, TopicReader } from "../../topics/index.ts";
import type { IdempotencyComponent } from "../components/idempotency-component.ts";
import type { FileStep, Flush } from "../components/tick-buffering-component.ts";
import { ignoreStale } from "./admission.ts";
import type { IndexedFile } from "./indexed-file.ts";
import { isOutage } from "./outage.ts";

/** What an indexer's own writing is given. */
export interface FlushContext {
  /** The transaction that also carries ledger and acknowledgement; its statements name tables as `sim.x`. */
  readonly tx: Transaction;
  /** Whether rows may be there already, so that they must be merged; false: they are new, and COPY will do. */
  readonly mayExist: boolean;
}

/** How a flush ended. */
export type FlushOutcome =
  | {
      readonly kind: "committed";
      /** Announcements whose acknowledgement is known to have committed with it. */
      readonly acknowledged: readonly TopicMessage<BatchInfo>[];
    }
  /** These files are no longer ours; nothing was written. */
  | { readonly kind: "lost"; readonly files: readonly IndexedFile[] }
  /** Sink, storage or network are down; nothing is known to be written. */
  | { readonly kind: "outage"; readonly error: unknown }
  /** Something in these ticks can't be written. */
  | { readonly kind: "failed"; readonly error: unknown };

/** What a flush is made of. */
export interface FlusherResources<T> {
  readonly database: Database;
  readonly coordinator: BatchCoordinatorReady | undefined;
  readonly topic: TopicReader<BatchInfo> | undefined;
  readonly idempotency: IdempotencyComponent | undefined;
  writeTicks(ticks: readonly T[], context: FlushContext): Promise<void>;
}

/**
 * Exactly once: the ticks, the position reached in each file, the completion of those that end, their marks as
 * processed, and the acknowledgement of their announcements commit together or not at all. The ledger's rows
 * are locked first, on claim version and position, so a stale holder writes nothing. Changes nothing in memory:
 * the caller does, by the outcome.
 */
export class Flusher<T> {
  readonly #resources: FlusherResources<T>;

  constructor(resources: FlusherResources<T>) {
    this.#resources = resources;
  }

  /** @param merge write as if all rows might be there already */
  async flush(runId: string, flush: Flush<T>, merge = false): Promise<FlushOutcome> {
    try {
      const acknowledged = await this.#write(runId, flush, merge);
      crashPoint("indexer.after-commit");
      return { kind: "committed", acknowledged };
    } catch (error) {
      return this.#explain(flush, error);
    }
  }

  async #write(runId: string, flush: Flush<T>, merge: boolean): Promise<readonly TopicMessage<BatchInfo>[]> {
    const { database, coordinator, idempotency, writeTicks } = this.#resources;
    const steps = flush.steps.map(claimStep);
    return database.forRun(runSchemaName(runId)).transaction(async (tx) => {
      if (coordinator) refuseLost(flush.steps, await coordinator.lockClaims(steps, { tx }));
      const mayExist = merge || flush.steps.some(({ file }) => file.claimVersion !== 1);
      if (flush.ticks.length > 0) await writeTicks(flush.ticks, { tx, mayExist });
      crashPoint("indexer.after-write");
      await idempotency?.markWith(tx, endedBy(flush.steps));
      const [, acknowledged] = await pipelined(this.#advance(steps, tx), this.#acknowledge(flush.steps, tx));
      crashPoint("indexer.after-ack");
      return acknowledged;
    });
  }

  async #advance(steps: readonly ClaimStep[], tx: Transaction): Promise<void> {
    await this.#resources.coordinator?.advanceClaims(steps, { tx });
  }

  /** Those that are there now: one that comes before the commit is not among them. */
  async #acknowledge(
    steps: readonly FileStep[],
    tx: Transaction,
  ): Promise<readonly TopicMessage<BatchInfo>[]> {
    const { topic } = this.#resources;
    if (!topic?.capabilities.transactionalAck) return [];
    const messages = messagesOf(steps);
    await ignoreStale(topic.ack(messages, { tx }));
    return messages;
  }

  async #explain(flush: Flush<T>, error: unknown): Promise<FlushOutcome> {
    const { coordinator } = this.#resources;
    const isDoubtful = error instanceof ClaimLostError || isTallymanError(error, "COMMIT_UNKNOWN");
    if (isDoubtful && coordinator) return this.#askLedger(coordinator, flush);
    return { kind: isOutage(error) ? "outage" : "failed", error };
  }

  /** Ledger and rows commit together: where the ledger stands, the rows do. */
  async #askLedger(coordinator: BatchCoordinatorReady, { steps }: Flush<T>): Promise<FlushOutcome> {
    try {
      const entries = await coordinator.readSettled(steps.map(({ file }) => file.filename));
      const byName = new Map(entries.map((entry) => [entry.filename, entry]));
      const isAt = ({ file }: FileStep, status: LedgerEntry["status"], position: number) => {
        const entry = byName.get(file.filename);
        const isOurs = entry?.claimVersion === file.claimVersion;
        return isOurs && entry.status === status && entry.resumeAt === position;
      };
      // By the status as well: an empty file ends where it began.
      const isDone = (step: FileStep) => isAt(step, step.completes ? "completed" : "claimed", step.to);
      if (steps.every(isDone)) return { kind: "committed", acknowledged: [] };
      const lost = steps.filter((step) => !isAt(step, "claimed", step.from));
      return { kind: "lost", files: lost.map(({ file }) => file) };
    } catch (error) {
      return { kind: "outage", error };
    }
  }
}

/** The announcements of the files that end with these steps. */
function messagesOf(steps: readonly FileStep[]): TopicMessage<BatchInfo>[] {
  return steps.flatMap(({ file, completes }) => (completes && file.message ? [file.message] : []));
}

/** The keys of the files that end with these steps. */
function endedBy(steps: readonly FileStep[]): string[] {
  return steps.flatMap(({ file, completes }) => (completes ? [file.storageKey] : []));
}

function claimStep({ file, from, to, completes }: FileStep): ClaimStep {
  return { filename: file.filename, claimVersion: file.claimVersion, from, to, completes };
}

function refuseLost(steps: readonly FileStep[], held: readonly string[]): void {
  const isHeld = new Set(held);
  const lost = steps.find(({ file }) => !isHeld.has(file.filename));
  if (lost) throw new ClaimLostError(lost.file.filename, `claim ${lost.file.claimVersion} is over`);
}
