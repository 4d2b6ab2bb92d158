import type { CallerClient, Database, Transaction } from "../database/index.ts";
import { TallymanError } from "../errors/index.ts";
import { type GivenOptions, logger, oneOf, resolveOptions, sleep, wholeNumber } from "../runtime/index.ts";
import {
  type BatchMetadata,
  type BatchStatus,
  type CompletionCommand,
  type CreateBatchOptions,
  isFinished,
} from "./batch.ts";
import type { BatchWatcher } from "./batch-watcher.ts";
import type { BatchCommand, CommandMetadata, CommandStatus } from "./command.ts";
import { newCommandId, refuseBadUuid } from "./command-id.ts";
import { batchNotFound, enqueue } from "./enqueue.ts";
import { DuplicateCommandError } from "./errors.ts";
import type { Hints } from "./hints.ts";
import type { Preparation } from "./preparation.ts";
import { priorityMax, serializeCommand, storableJson } from "./serialize.ts";
import {
  cancelCommands,
  countCancelable,
  insertBatch,
  markCanceled,
  type NewBatch,
  sealBatch,
  selectBatch,
  selectBatches,
  selectCancellations,
} from "./sql/batch.ts";
import { type CommandName, hasCommand, selectBatchCommands } from "./sql/command.ts";
import { enqueueChunkMax } from "./sql/enqueue.ts";

const log = logger("commands.batches");

/** A batch is one transaction; beyond this, use an open batch and add to it. */
export const batchCommandsMax = 1_000_000;
/** Some 5,000 commands per transaction either way: a block of the queue has up to a hundred. */
const cancelBlocksMax = 50;
const cancelTroubledMax = 5_000;
const pageMax = 1_000;
const nameLettersMax = 255;

/** What the decision to cancel a batch found. */
export interface CancelDecision {
  /** Commands that nobody has begun. */
  readonly cancelable: number;
  /** Commands that were cancelled one by one before. */
  readonly canceledBefore: number;
}

/** A page of a list. */
export interface PageOptions<Status extends string> {
  /** Only those in this state. */
  readonly status?: Status;
  /** Default 100, at most 1000. */
  readonly limit: number;
  /** Default 0. For long lists pass `cursor` instead: an offset reads all that it skips. */
  readonly offset: number;
  /** Id of the last item of the page before. */
  readonly cursor?: string;
}

/** Begins to check commands; given by the bus, which knows the schemas and limits. */
export type Prepare = (domain: string, commands: readonly BatchCommand[], priority?: number) => Preparation;

/** What batches share with the bus that they belong to. */
export interface BatchesContext {
  readonly database: Database;
  readonly hints: Hints;
  readonly watcher: BatchWatcher;
  readonly prepare: Prepare;
  readonly payloadBytesMax: number;
}

/** The batch half of the command bus; see there. */
export class Batches {
  readonly #context: BatchesContext;

  constructor(context: BatchesContext) {
    this.#context = context;
  }

  async create(
    domain: string,
    commands: readonly BatchCommand[],
    options: CreateBatchOptions = {},
    caller?: Transaction | CallerClient,
  ): Promise<string> {
    const { database, hints, watcher, prepare } = this.#context;
    refuseBadSize(commands.length, options.open ?? false);
    const batch = this.#newBatch(domain, commands.length, options);
    const completionId = namedCompletion(domain, commands, options.completion);
    const preparation = prepare(domain, commands, options.priority);
    if (caller || commands.length <= enqueueChunkMax) await preparation.finish();
    const watch = options.onComplete && watcher.watch(batch.batchId, options.onComplete);
    const store = async (tx: Transaction) => {
      if (completionId && (await hasCommand(tx, completionId))) throw duplicateCompletion(completionId);
      const xid = await insertBatch(tx, batch);
      watch?.createdBy(xid);
      await enqueue(tx, { batchId: batch.batchId, isNew: true }, preparation);
    };
    try {
      if (caller) await this.#storeInside(database.join(caller), domain, store);
      else await database.transaction(store);
    } catch (error) {
      watch?.cancel();
      throw error;
    }
    watcher.start();
    if (!caller) void hints.commandsReady(domain);
    return batch.batchId;
  }

  async get(domain: string, batchId: string): Promise<BatchMetadata | null> {
    refuseBadUuid("batchId", batchId);
    return selectBatch(this.#context.database, domain, batchId);
  }

  async list(
    domain: string | null,
    given: GivenOptions<PageOptions<BatchStatus>> = {},
  ): Promise<BatchMetadata[]> {
    const { status = null, limit, offset, cursor = null } = resolvePage(given, batchStatuses);
    return selectBatches(this.#context.database, domain, { status, limit, offset, cursor });
  }

  async listCommands(
    domain: string,
    batchId: string,
    given: GivenOptions<PageOptions<CommandStatus>> = {},
  ): Promise<CommandMetadata[]> {
    refuseBadUuid("batchId", batchId);
    const { status = null, limit, offset, cursor = null } = resolvePage(given, commandStatuses);
    return selectBatchCommands(this.#context.database, domain, batchId, { status, limit, offset, cursor });
  }

  async seal(domain: string, batchId: string): Promise<void> {
    refuseBadUuid("batchId", batchId);
    const { database } = this.#context;
    const sealed = await database.transaction((tx) => sealBatch(tx, domain, batchId));
    if (!sealed) throw batchNotFound(domain, batchId);
    this.completed(sealed.completedBatches);
  }

  async decideCancellation(domain: string, batchId: string, operator: string): Promise<CancelDecision> {
    refuseBadUuid("batchId", batchId);
    const { database } = this.#context;
    const marked = await markCanceled(database, domain, batchId, operator);
    if (marked) return { ...marked, cancelable: await countCancelable(database, batchId) };
    const batch = await selectBatch(database, domain, batchId);
    if (!batch) throw batchNotFound(domain, batchId);
    throw new TallymanError("INVALID_STATE", `Can't cancel batch ${batchId}: it is ${batch.status}.`, {
      details: { batchId, status: batch.status },
    });
  }

  async countCancelable(domain: string, batchId: string): Promise<number> {
    if (!(await this.get(domain, batchId))) throw batchNotFound(domain, batchId);
    return countCancelable(this.#context.database, batchId);
  }

  /**
   * Cancels what nobody has begun, a bounded transaction at a time; any process may do so at the same moment.
   *
   * @returns how many commands were cancelled since the decision, by whomever
   */
  async carryOutCancellation(
    domain: string,
    batchId: string,
    { event, operator, canceledBefore }: { event: string; operator: string; canceledBefore: number },
    signal?: AbortSignal,
  ): Promise<number> {
    const { database } = this.#context;
    const request = {
      batchId,
      blocksMax: cancelBlocksMax,
      troubledMax: cancelTroubledMax,
      event,
      details: { operator },
    };
    while (!signal?.aborted) {
      const step = await database.transaction((tx) => cancelCommands(tx, request));
      if (!step) break;
      this.completed(step.completedBatches);
    }
    // Nothing may have been left to cancel, and an open batch that was sealed by this may be done.
    const sealed = await database.transaction((tx) => sealBatch(tx, domain, batchId));
    this.completed(sealed?.completedBatches ?? []);
    const batch = await this.get(domain, batchId);
    return batch ? batch.canceledCount - canceledBefore : 0;
  }

  /** Carries out cancellations that were decided elsewhere: an expiry, or a process that died amid one. */
  async resumeCancellations(batchIds: readonly string[], signal?: AbortSignal): Promise<void> {
    if (batchIds.length === 0) return;
    const cancellations = await selectCancellations(this.#context.database, batchIds);
    for (const { domain, batchId, canceledBy } of cancellations) {
      if (signal?.aborted) return;
      const event = canceledBy === "expiry" ? "EXPIRED" : "OPERATOR_CANCEL";
      const decision = { event, operator: canceledBy, canceledBefore: 0 };
      await this.carryOutCancellation(domain, batchId, decision, signal).catch((error: unknown) => {
        log.warn(`The cancellation of batch ${batchId} goes on later: ${String(error)}`);
      });
    }
  }

  async wait(domain: string, batchId: string, signal?: AbortSignal): Promise<BatchMetadata> {
    const batch = await this.get(domain, batchId);
    if (!batch) throw batchNotFound(domain, batchId);
    return isFinished(batch) ? batch : this.#context.watcher.wait(batchId, signal);
  }

  async *watch(
    domain: string,
    batchId: string,
    { intervalMs = 250, signal }: { intervalMs?: number; signal?: AbortSignal } = {},
  ): AsyncGenerator<BatchMetadata> {
    let last = "";
    for (;;) {
      const batch = await this.get(domain, batchId);
      if (!batch) throw batchNotFound(domain, batchId);
      const now = JSON.stringify(batch);
      if (now !== last) yield batch;
      last = now;
      if (isFinished(batch)) return;
      await sleep(intervalMs, signal);
    }
  }

  /** Tells watchers here and in other processes. */
  completed(batchIds: readonly string[]): void {
    if (batchIds.length === 0) return;
    this.#context.watcher.notify();
    this.#context.hints.batchesCompleted(batchIds);
  }

  async #storeInside(
    tx: Transaction,
    domain: string,
    store: (tx: Transaction) => Promise<void>,
  ): Promise<void> {
    await store(tx);
    await this.#context.hints.commandsReady(domain, tx);
  }

  #newBatch(domain: string, totalCount: number, options: CreateBatchOptions): NewBatch {
    const { name, customData, completion, open = false, priority = 0, expiresAt } = options;
    if (name !== undefined && name.length > nameLettersMax)
      throw invalidBatch(`name is longer than ${nameLettersMax}`);
    if (!(Number.isInteger(priority) && Math.abs(priority) <= priorityMax))
      throw invalidBatch(`priority must be a whole number of at most ${priorityMax}`);
    if (expiresAt && Number.isNaN(expiresAt.getTime())) throw invalidBatch("expiresAt must be a valid date");
    const custom = customData === undefined ? null : storableJson(customData);
    if (custom === undefined) throw invalidBatch("customData is not JSON that can be stored");
    return {
      batchId: newCommandId(),
      domain,
      name: name ?? null,
      customData: custom,
      totalCount,
      isSealed: !open,
      priority,
      expiresAt: expiresAt ?? null,
      completion: completion === undefined ? null : this.#completionJson(domain, completion),
    };
  }

  #completionJson(domain: string, { data = {}, ...command }: CompletionCommand): string {
    const target = command.domain ?? domain;
    const { payloadBytesMax } = this.#context;
    const serialized = serializeCommand(target, { ...command, data }, { payloadBytesMax });
    const head = JSON.stringify({
      domain: target,
      command_id: serialized.commandId,
      command_type: serialized.commandType,
      correlation_id: serialized.correlationId,
      reply_to: serialized.replyTo,
      priority: serialized.priority,
      max_attempts: serialized.maxAttempts,
    });
    return `${head.slice(0, -1)},"data":${serialized.data}}`;
  }
}

const batchStatuses: readonly BatchStatus[] = [
  "PENDING",
  "IN_PROGRESS",
  "COMPLETED",
  "COMPLETED_WITH_FAILURES",
];
const commandStatuses: readonly CommandStatus[] = [
  "PENDING",
  "IN_PROGRESS",
  "COMPLETED",
  "FAILED",
  "CANCELED",
  "IN_TROUBLESHOOTING_QUEUE",
];

function resolvePage<Status extends string>(
  given: GivenOptions<PageOptions<Status>>,
  statuses: readonly Status[],
): Readonly<PageOptions<Status>> {
  const page = resolveOptions<PageOptions<string>>(
    { status: undefined, limit: 100, offset: 0, cursor: undefined },
    given as GivenOptions<PageOptions<string>>,
    {
      status: oneOf<string>(...statuses),
      limit: wholeNumber({ max: pageMax }),
      offset: wholeNumber({ min: 0 }),
    },
  ) as Readonly<PageOptions<Status>>;
  if (page.cursor !== undefined) refuseBadUuid("cursor", page.cursor);
  return page;
}

/** The id that the caller chose for the completion's command, if any. @throws DuplicateCommandError */
function namedCompletion(
  domain: string,
  commands: readonly BatchCommand[],
  completion: CompletionCommand | undefined,
): CommandName | undefined {
  if (completion?.commandId === undefined) return undefined;
  const name = { domain: completion.domain ?? domain, commandId: completion.commandId.toLowerCase() };
  const isAmongThem = commands.some(({ commandId }) => commandId?.toLowerCase() === name.commandId);
  if (name.domain === domain && isAmongThem) throw duplicateCompletion(name);
  return name;
}

function duplicateCompletion({ domain, commandId }: CommandName): DuplicateCommandError {
  return new DuplicateCommandError(domain, commandId);
}

function refuseBadSize(commands: number, open: boolean): void {
  if (commands === 0 && !open) {
    throw new TallymanError("BATCH_EMPTY", "A batch needs at least one command, unless it is created open.");
  }
  if (commands > batchCommandsMax) {
    throw invalidBatch(
      `${commands} commands are more than ${batchCommandsMax}; create it open and add them in parts`,
    );
  }
}

function invalidBatch(what: string): TallymanError {
  return new TallymanError("COMMAND_INVALID", `The batch can't be created: ${what}.`);
}
