import type { Database, Transaction } from "../database/index.ts";
import { TallymanError } from "../errors/index.ts";
import { type GivenOptions, resolveOptions, wholeNumber } from "../runtime/index.ts";
import type { CommandMetadata } from "./command.ts";
import { refuseBadUuid } from "./command-id.ts";
import { InvalidOperationError } from "./errors.ts";
import type { Hints } from "./hints.ts";
import { storableJson } from "./serialize.ts";
import { type Outcome, settleCommands } from "./sql/settle.ts";
import {
  countTroubled,
  groupTroubled,
  type LockedRow,
  lockCommands,
  lockTroubled,
  selectTroubled,
  type TsqCursor,
  type TsqFilterRow,
  type TsqGroup,
} from "./sql/tsq.ts";

/** Commands in one transaction of a bulk action. */
const stepMax = 1_000;
const pageMax = 1_000;

/** Which commands of the troubleshooting queue; every field given must match. */
export interface TsqFilter {
  readonly domain?: string;
  readonly commandType?: string;
  /** As in {@link CommandMetadata.errorSignature}. */
  readonly errorSignature?: string;
  readonly batchId?: string;
}

/** A page of the queue. */
export interface TsqListOptions extends TsqFilter {
  /** Default 100, at most 1000. */
  readonly limit: number;
  /** The last command of the page before. */
  readonly cursor?: TsqCursor;
}

/** What an action is for: commands by id, or all that match a filter, the oldest `limit` of them if that is given. */
export type TsqTarget =
  | { readonly domain: string; readonly commandIds: readonly string[] }
  | { readonly matching: TsqFilter; readonly limit?: number };

/** Who acts; kept in the audit. */
export interface OperatorOptions {
  readonly operator: string;
}

interface Action {
  readonly name: "retry" | "complete" | "cancel";
  readonly outcome: Outcome;
  readonly event: string;
  readonly result?: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/**
 * The troubleshooting queue: commands that failed for good wait here for a person. Each action locks its
 * commands, moves their batches' counters once, sends the reply and leaves one audit row per command. By id,
 * all of a thousand change or none; bulk actions go a thousand per transaction, so that a failure keeps what
 * was done and a second call does the rest. Safe for any number of operators at once.
 *
 * @example
 * ```ts
 * for (const { errorSignature, count } of await bus.tsq.groups({ domain: "orders" })) {
 *   console.log(count, errorSignature);
 *   await bus.tsq.retry({ matching: { domain: "orders", errorSignature } }, { operator: "mia" });
 * }
 * ```
 */
export class TroubleshootingQueue {
  readonly #database: Database;
  readonly #hints: Hints;
  readonly #onCompleted: (batchIds: readonly string[]) => void;

  /** @internal */
  constructor(database: Database, hints: Hints, onCompleted: (batchIds: readonly string[]) => void) {
    this.#database = database;
    this.#hints = hints;
    this.#onCompleted = onCompleted;
  }

  /** A page of matching commands, in the order in which they were sent. */
  async list(given: GivenOptions<TsqListOptions> = {}): Promise<CommandMetadata[]> {
    const { limit, cursor, ...filter } = resolveOptions<TsqListOptions>(
      {
        domain: undefined,
        commandType: undefined,
        errorSignature: undefined,
        batchId: undefined,
        limit: 100,
        cursor: undefined,
      },
      given,
      { limit: wholeNumber({ max: pageMax }) },
    );
    if (cursor !== undefined) refuseBadUuid("cursor", cursor.commandId);
    return selectTroubled(this.#database, toRow(filter), { limit, cursor });
  }

  /** Matching commands by domain, type and kind of error, the largest group first. */
  async groups(filter: TsqFilter = {}): Promise<TsqGroup[]> {
    return groupTroubled(this.#database, toRow(filter));
  }

  /** How many commands an action on all matching would change now. */
  async count(filter: TsqFilter = {}): Promise<number> {
    return countTroubled(this.#database, toRow(filter));
  }

  /**
   * Back to the workers, with all attempts anew.
   *
   * @returns how many commands changed
   * @throws InvalidOperationError when a named command is in another state; TallymanError COMMAND_NOT_FOUND
   */
  retry(target: TsqTarget, { operator, reason }: OperatorOptions & { reason?: string }): Promise<number> {
    const details = { operator, ...(reason !== undefined && { reason }) };
    return this.#act(target, { name: "retry", outcome: "REQUEUED", event: "OPERATOR_RETRY", details });
  }

  /**
   * Ends them as COMPLETED, with `result` in the reply.
   *
   * @throws as {@link retry}
   */
  async complete(
    target: TsqTarget,
    { operator, result }: OperatorOptions & { result?: unknown },
  ): Promise<number> {
    const json = result === undefined ? undefined : storableJson(result);
    if (result !== undefined && json === undefined) {
      throw new TallymanError("COMMAND_INVALID", "The result is not JSON that can be stored.");
    }
    return this.#act(target, {
      name: "complete",
      outcome: "COMPLETED",
      event: "OPERATOR_COMPLETE",
      details: { operator },
      ...(json !== undefined && { result: json }),
    });
  }

  /**
   * Ends them as CANCELED; the reply says so.
   *
   * @throws as {@link retry}
   */
  cancel(target: TsqTarget, { operator, reason }: OperatorOptions & { reason?: string }): Promise<number> {
    const details = { operator, ...(reason !== undefined && { reason }) };
    return this.#act(target, { name: "cancel", outcome: "CANCELED", event: "OPERATOR_CANCEL", details });
  }

  #act(target: TsqTarget, action: Action): Promise<number> {
    if ("matching" in target) return this.#actOnMatching(toRow(target.matching), action, target.limit);
    return this.#actOnIds(target.domain, [...new Set(target.commandIds)], action);
  }

  async #actOnIds(domain: string, commandIds: readonly string[], action: Action): Promise<number> {
    for (const commandId of commandIds) refuseBadUuid("commandId", commandId);
    let changed = 0;
    for (let from = 0; from < commandIds.length; from += stepMax) {
      const step = commandIds.slice(from, from + stepMax);
      const rows = await this.#step(action, async (tx) => {
        const locked = await lockCommands(tx, domain, step);
        refuseWrongState(domain, step, locked, action);
        return locked;
      });
      changed += rows.length;
    }
    return changed;
  }

  async #actOnMatching(
    filter: TsqFilterRow,
    action: Action,
    limit = Number.POSITIVE_INFINITY,
  ): Promise<number> {
    let changed = 0;
    for (let after = 0; changed < limit; ) {
      const page = { after, limit: Math.min(stepMax, limit - changed) };
      const rows = await this.#step(action, (tx) => lockTroubled(tx, filter, page));
      changed += rows.length;
      const last = rows.at(-1);
      if (last === undefined) break;
      after = Number(last.id);
    }
    return changed;
  }

  async #step(action: Action, lock: (tx: Transaction) => Promise<LockedRow[]>): Promise<LockedRow[]> {
    const { outcome, event, result, details } = action;
    const { rows, completedBatches } = await this.#database.transaction(async (tx) => {
      const rows = await lock(tx);
      if (rows.length === 0) return { rows, completedBatches: [] };
      const settlements = rows.map(({ id }) => ({
        id: Number(id),
        outcome,
        event,
        ...(result !== undefined && { result }),
      }));
      const { completedBatches } = await settleCommands(tx, settlements, {
        from: "IN_TROUBLESHOOTING_QUEUE",
        details,
      });
      return { rows, completedBatches };
    });
    this.#announce(rows, outcome, completedBatches);
    return rows;
  }

  #announce(rows: readonly LockedRow[], outcome: Outcome, completedBatches: readonly string[]): void {
    this.#onCompleted(completedBatches);
    if (outcome === "REQUEUED") {
      for (const domain of new Set(rows.map((row) => row.domain))) void this.#hints.commandsReady(domain);
    } else {
      for (const queue of new Set(rows.map(({ replyTo }) => replyTo)))
        if (queue !== null) this.#hints.replied(queue);
    }
  }
}

function toRow({ domain, commandType, errorSignature, batchId }: TsqFilter): TsqFilterRow {
  if (batchId !== undefined) refuseBadUuid("batchId", batchId);
  return {
    domain: domain ?? null,
    commandType: commandType ?? null,
    errorSignature: errorSignature ?? null,
    batchId: batchId ?? null,
  };
}

function refuseWrongState(
  domain: string,
  commandIds: readonly string[],
  locked: readonly LockedRow[],
  { name }: Action,
): void {
  const known = new Map(locked.map((row) => [row.commandId, row]));
  for (const commandId of commandIds) {
    const row = known.get(commandId.toLowerCase());
    if (!row) {
      throw new TallymanError("COMMAND_NOT_FOUND", `Domain '${domain}' has no command ${commandId}.`, {
        details: { domain, commandId },
      });
    }
    if (row.status !== "IN_TROUBLESHOOTING_QUEUE")
      throw new InvalidOperationError(name, commandId, row.status);
  }
}
