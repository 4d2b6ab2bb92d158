import type { Database } from "../database/index.ts";
import { backoffMs, crashPoint, GroupCommitBuffer, logger, sleep } from "../runtime/index.ts";
import { isDatabaseAway } from "./failure.ts";
import { haveSameStep, type Settled, type Settlement, settleCommands } from "./sql/settle.ts";

const log = logger("commands.outcomes");

/** Outcomes that wait for their commit at most; beyond this, handlers wait. */
const pendingGroupsMax = 8;
const retryDelays = { initialMs: 20, maxMs: 1_000, factor: 2, jitter: 0.5 };

/** How outcomes are committed. */
export interface OutcomeBufferOptions {
  readonly groupMax: number;
  readonly groupDelayMs: number;
  /** An outcome is tried for this long while the database is away: after that the lease is lost anyway. */
  readonly leaseMs: number;
  onSettled(settled: Settled): void;
  /** Fewer outcomes are pending than before. */
  onRoom(): void;
}

/**
 * Commits outcomes in groups. A group that meets a lost connection or a deadlock is sent again, even when
 * its commit may have counted: the lease token and the state make the second one change nothing.
 */
export class OutcomeBuffer {
  readonly #database: Database;
  readonly #options: OutcomeBufferOptions;
  readonly #buffer: GroupCommitBuffer<Settlement, boolean>;

  constructor(database: Database, options: OutcomeBufferOptions) {
    this.#database = database;
    this.#options = options;
    this.#buffer = new GroupCommitBuffer({
      // The group still counts as pending when its flush has ended, and no longer a turn of the event loop later.
      flush: (group) => this.#flush(group).finally(() => setImmediate(options.onRoom)),
      itemsMax: options.groupMax,
      delayMs: options.groupDelayMs,
      pendingMax: options.groupMax * pendingGroupsMax,
    });
  }

  get pending(): number {
    return this.#buffer.pending;
  }

  /**
   * Calls back with true when the outcome counts, with false when the command was no longer ours, and with an
   * error when it was not stored: also when it comes after stop(), from a handler that nobody waited for.
   */
  post(settlement: Settlement, settle: (counts: boolean | Error) => void): void {
    try {
      this.#buffer.post(settlement, settle);
    } catch (error) {
      settle(error as Error);
    }
  }

  stop(): Promise<void> {
    return this.#buffer.stop();
  }

  /** Outcomes that differ are settled one kind after the other, each in its own transaction. */
  async #flush(group: readonly Settlement[]): Promise<(boolean | Error)[]> {
    const [first] = group;
    if (!first || group.every((settlement) => haveSameStep(settlement, first))) return this.#flushStep(group);
    const outcomes = new Map<Settlement, boolean | Error>();
    for (const part of bySteps(group)) {
      const ended = await this.#flushStep(part).catch((error: Error) => part.map(() => error));
      for (const [index, settlement] of part.entries()) outcomes.set(settlement, ended[index] ?? false);
    }
    return group.map((settlement) => outcomes.get(settlement) ?? false);
  }

  async #flushStep(group: readonly Settlement[]): Promise<(boolean | Error)[]> {
    crashPoint("commands.outcomes.before-flush");
    // A worker that lost a command and got it again may have two outcomes for it; only one can count.
    if (new Set(group.map(({ id }) => id)).size < group.length) return this.#flushSingly(group);
    try {
      const settled = await this.#settleUntilAnswered(group);
      crashPoint("commands.outcomes.after-flush");
      this.#options.onSettled(settled);
      return group.map(({ id }) => !settled.stale.has(id));
    } catch (error) {
      // Each alone would wait as long again for a database that is away.
      if (group.length === 1 || isDatabaseAway(error)) throw error;
      log.warn(`A group of ${group.length} outcomes was refused, settling them one by one: ${String(error)}`);
      return this.#flushSingly(group);
    }
  }

  /** One outcome that the database refuses must not take its neighbours with it. */
  async #flushSingly(group: readonly Settlement[]): Promise<(boolean | Error)[]> {
    const outcomes: (boolean | Error)[] = [];
    for (const settlement of group) {
      const outcome = await this.#flushStep([settlement]).catch((error: unknown) => [error as Error]);
      outcomes.push(outcome[0] ?? false);
    }
    return outcomes;
  }

  async #settleUntilAnswered(group: readonly Settlement[]): Promise<Settled> {
    const deadlineMs = performance.now() + this.#options.leaseMs;
    for (let attempt = 1; ; attempt++) {
      try {
        return await settleCommands(this.#database, group, { from: "IN_PROGRESS" });
      } catch (error) {
        if (!isDatabaseAway(error) || performance.now() > deadlineMs) throw error;
        log.debug("Outcomes were not committed, trying again", { reason: String(error), attempt });
        await sleep(backoffMs(attempt, retryDelays));
      }
    }
  }
}

function bySteps(group: readonly Settlement[]): Settlement[][] {
  const parts: Settlement[][] = [];
  for (const settlement of group) {
    const part = parts.find(([first]) => first && haveSameStep(first, settlement));
    if (part) part.push(settlement);
    else parts.push([settlement]);
  }
  return parts;
}
