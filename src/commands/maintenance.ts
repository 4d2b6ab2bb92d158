import type { Database } from "../database/index.ts";
import { logger } from "../runtime/index.ts";
import type { Batches } from "./batches.ts";
import type { Hints } from "./hints.ts";
import { lockPruning, maintain, pruneAudit, pruneBatch, pruneCommands } from "./sql/maintenance.ts";

const log = logger("commands.maintenance");

const leasesMax = 100;
const batchesMax = 100;
const pruneStepMax = 5_000;
const auditGroupsMax = 1_000;

/** What may be deleted, and how long after its end. Nothing is deleted without a policy. */
export interface RetentionOptions {
  /** Finished commands, and finished batches as a whole. */
  readonly finishedMs?: number;
  /** Audit events. */
  readonly auditMs?: number;
}

/** What a prune deleted. */
export interface Pruned {
  readonly commands: number;
  readonly audit: number;
}

/**
 * What any worker does for all of them: takes commands back from workers that are gone, carries out the
 * cancellation of expired batches, deletes what retention allows. One at a time in the whole fleet, by locks
 * that end with their transactions.
 */
export class Maintenance {
  readonly #database: Database;
  readonly #batches: Batches;
  readonly #hints: Hints;

  constructor(context: { database: Database; batches: Batches; hints: Hints }) {
    this.#database = context.database;
    this.#batches = context.batches;
    this.#hints = context.hints;
  }

  /** One round; returns how many commands were taken back. */
  async runOnce(lostLeasesMax: number, signal?: AbortSignal): Promise<number> {
    const done = await maintain(this.#database, { leasesMax, lostLeasesMax, batchesMax });
    if (!done) return 0;
    this.#batches.completed(done.completedBatches);
    await this.#batches.resumeCancellations(done.canceledBatches, signal);
    if (done.reclaimed > 0) {
      log.debug("Took commands back from lost workers", { commands: done.reclaimed });
      void this.#hints.commandsReady("");
    }
    return done.reclaimed;
  }

  /**
   * Deletes what the policy allows, in bounded transactions until the signal is aborted; does nothing while
   * another process does it.
   */
  async prune({ finishedMs, auditMs }: RetentionOptions, signal?: AbortSignal): Promise<Pruned> {
    const commands = finishedMs === undefined ? 0 : await this.#pruneFinished(finishedMs, signal);
    const audit = auditMs === undefined ? 0 : await this.#pruneAudit(auditMs, signal);
    return { commands, audit };
  }

  async #pruneFinished(olderThanMs: number, signal?: AbortSignal): Promise<number> {
    let deleted = 0;
    let after: number | null = 0;
    while (after !== null && !signal?.aborted) {
      const done = await this.#pruneStep({ after, limit: pruneStepMax, olderThanMs });
      deleted += done.deleted;
      after = done.lastId;
    }
    while (!signal?.aborted) {
      const done = await this.#database.transaction(async (tx) =>
        (await lockPruning(tx)) ? pruneBatch(tx, { limit: pruneStepMax, olderThanMs }) : undefined,
      );
      if (!done) break;
      deleted += done.deleted;
    }
    return deleted;
  }

  #pruneStep(step: Parameters<typeof pruneCommands>[1]): ReturnType<typeof pruneCommands> {
    return this.#database.transaction(async (tx) =>
      (await lockPruning(tx)) ? pruneCommands(tx, step) : { deleted: 0, lastId: null },
    );
  }

  async #pruneAudit(olderThanMs: number, signal?: AbortSignal): Promise<number> {
    let deleted = 0;
    while (!signal?.aborted) {
      const step = await this.#database.transaction(async (tx) =>
        (await lockPruning(tx)) ? pruneAudit(tx, { limit: auditGroupsMax, olderThanMs }) : undefined,
      );
      if (!step) break;
      deleted += step.deleted;
    }
    return deleted;
  }
}
