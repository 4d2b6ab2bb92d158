import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Database } from "../database/index.ts";
import { type GivenOptions, resolveOptions, wholeNumber } from "../runtime/index.ts";
import type { BatchMetadata, BatchStatus, CreateBatchOptions } from "./batch.ts";
import { BatchWatcher } from "./batch-watcher.ts";
import { Batches, type CancelDecision, type PageOptions } from "./batches.ts";
import { cancelWaiting } from "./cancel-waiting.ts";
import type { BatchCommand, CommandMetadata, CommandStatus, SendOptions } from "./command.ts";
import {
  type AuditOptions,
  type CommandBusOptions,
  type CommandListOptions,
  listPageMax,
  resolveAuditPage,
  type TransactionOption,
} from "./command-bus-options.ts";
import { refuseBadUuid } from "./command-id.ts";
import { CommandSchemas, type CommandType } from "./command-schemas.ts";
import { Hints } from "./hints.ts";
import { Maintenance, type Pruned, type RetentionOptions } from "./maintenance.ts";
import { Preparation } from "./preparation.ts";
import { ReplyQueue } from "./reply-queue.ts";
import { refuseBadDomain, templateOf } from "./serialize.ts";
import { type AuditEvent, selectAudit, selectBatchHistory, selectHistory } from "./sql/audit.ts";
import { selectBatchesById } from "./sql/batch.ts";
import { type BatchCounts, selectBatchCounts } from "./sql/batch-counts.ts";
import { selectCommand, selectCommands, setPaused } from "./sql/command.ts";
import { type DomainStats, selectDomains } from "./sql/domains.ts";
import { type BusStats, type Miscount, recountBatches, selectStats } from "./sql/recount.ts";
import { storeCommands } from "./store-commands.ts";
import { type OperatorOptions, TroubleshootingQueue } from "./troubleshooting-queue.ts";
import { Worker } from "./worker.ts";
import type { WorkerOptions } from "./worker-options.ts";

/**
 * Sends commands, groups them into batches, and says what became of them. Safe to share between all parts of
 * a process; any number of processes may have one on the same database. Closing it ends its watches, not the
 * database.
 *
 * @example
 * ```ts
 * const batchId = await bus.createBatch("orders", orders.map((order) => ({ commandType: "ShipOrder", data: order })), {
 *   name: "Evening run",
 *   onComplete: (batch) => console.log(`${batch.completedCount} of ${batch.totalCount} shipped`),
 * });
 * const { status } = await bus.waitForBatch("orders", batchId);
 * ```
 */
export class CommandBus implements AsyncDisposable {
  readonly database: Database;
  /** Commands that failed for good, and what operators can do about them. */
  readonly tsq: TroubleshootingQueue;
  /** @internal */
  readonly schemas: CommandSchemas;
  /** @internal */
  readonly hints: Hints;
  /** @internal */
  readonly maintenance: Maintenance;
  readonly #options: Readonly<CommandBusOptions>;
  readonly #watcher: BatchWatcher;
  readonly #batches: Batches;

  /** @throws TallymanError INVALID_OPTION */
  constructor(
    database: Database,
    given: GivenOptions<CommandBusOptions> = {},
    /** @internal */ schemas: CommandSchemas = new CommandSchemas(),
  ) {
    this.database = database;
    this.schemas = schemas;
    this.#options = resolveOptions<CommandBusOptions>({ payloadBytesMax: 1024 * 1024 }, given);
    this.hints = new Hints(database);
    this.#watcher = new BatchWatcher(database, this.hints);
    const { payloadBytesMax } = this.#options;
    this.#batches = new Batches({
      database,
      hints: this.hints,
      watcher: this.#watcher,
      payloadBytesMax,
      prepare: (domain, commands, priority) => this.#prepare(domain, commands, priority),
    });
    this.maintenance = new Maintenance({ database, batches: this.#batches, hints: this.hints });
    this.tsq = new TroubleshootingQueue(database, this.hints, (batchIds) => this.completed(batchIds));
  }

  /**
   * Gives a command type a schema (any Standard Schema: zod, valibot, arktype, …). From then on `send` refuses
   * data that does not fit, a worker that receives such data moves it to the troubleshooting queue, and handlers
   * of the returned type get the schema's output.
   *
   * @example
   * ```ts
   * const shipOrder = bus.register("orders", "ShipOrder", z.object({ orderId: z.number() }));
   * worker.handle(shipOrder, ({ data }) => ship(data.orderId));
   * ```
   */
  register<Input, Output>(
    domain: string,
    commandType: string,
    schema: StandardSchemaV1<Input, Output>,
  ): CommandType<Input, Output> {
    const type = { domain, commandType, schema };
    this.schemas.register(type);
    return type;
  }

  /**
   * Sends one command and returns its id. With `batchId` it is added to that open batch.
   *
   * @throws DuplicateCommandError, BatchSealedError; TallymanError BATCH_NOT_FOUND, COMMAND_INVALID,
   * COMMAND_TOO_LARGE
   */
  async send(
    domain: string,
    commandType: string,
    { batchId, ...command }: SendOptions & { readonly batchId?: string },
    { tx }: TransactionOption = {},
  ): Promise<string> {
    const [commandId = ""] = await this.sendMany(domain, [{ ...command, commandType }], {
      ...(batchId !== undefined && { batchId }),
      ...(tx && { tx }),
    });
    return commandId;
  }

  /**
   * Sends many commands, all or none, and returns their ids in order. 100,000 are one transaction.
   *
   * @throws as {@link send}
   */
  async sendMany(
    domain: string,
    commands: readonly BatchCommand[],
    { tx, batchId }: TransactionOption & { readonly batchId?: string } = {},
  ): Promise<string[]> {
    if (commands.length === 0) return [];
    if (batchId !== undefined) refuseBadUuid("batchId", batchId);
    const preparation = this.#prepare(domain, commands);
    await storeCommands(this, { batchId: batchId ?? null, isNew: false }, preparation, tx);
    return preparation.commandIds;
  }

  /**
   * Stores a batch with all its commands, or nothing, and returns its id. At most a million commands; a larger
   * one is created open and added to. `onComplete` is called once in this process, whoever finishes the batch;
   * it is lost with the process, so what must happen belongs in `completion`.
   *
   * @throws DuplicateCommandError; TallymanError BATCH_EMPTY, COMMAND_INVALID (also for a command of another
   * domain), COMMAND_TOO_LARGE
   */
  createBatch(
    domain: string,
    commands: readonly BatchCommand[],
    options: CreateBatchOptions = {},
    { tx }: TransactionOption = {},
  ): Promise<string> {
    return this.#batches.create(domain, commands, options, tx);
  }

  /**
   * Adds commands to an open batch and returns their ids.
   *
   * @throws as {@link send}
   */
  addToBatch(
    domain: string,
    batchId: string,
    commands: readonly BatchCommand[],
    options: TransactionOption = {},
  ): Promise<string[]> {
    return this.sendMany(domain, commands, { ...options, batchId });
  }

  /** Takes no more commands into an open batch, which from now on can complete. Sealing twice changes nothing. */
  sealBatch(domain: string, batchId: string): Promise<void> {
    return this.#batches.seal(domain, batchId);
  }

  /**
   * Cancels every command of a batch that nobody has begun, those in the troubleshooting queue included.
   * Running handlers finish; what would be tried again is cancelled instead. The batch ends
   * COMPLETED_WITH_FAILURES. Returns how many commands were cancelled now.
   *
   * @throws TallymanError BATCH_NOT_FOUND, INVALID_STATE when it has ended
   */
  async cancelBatch(domain: string, batchId: string, { operator }: { operator: string }): Promise<number> {
    const { canceledBefore } = await this.decideCancellation(domain, batchId, { operator });
    return this.carryOutCancellation(domain, batchId, { operator, canceledBefore });
  }

  /**
   * The first half of {@link cancelBatch}: from now on the batch is cancelled for good, whoever carries it out.
   *
   * @throws as {@link cancelBatch}
   */
  decideCancellation(
    domain: string,
    batchId: string,
    { operator }: { operator: string },
  ): Promise<CancelDecision> {
    return this.#batches.decideCancellation(domain, batchId, operator);
  }

  /**
   * The second half, a bounded transaction at a time; workers' maintenance does it too.
   *
   * @returns how many commands were cancelled since the decision
   */
  carryOutCancellation(
    domain: string,
    batchId: string,
    by: { operator: string; canceledBefore: number },
  ): Promise<number> {
    return this.#batches.carryOutCancellation(domain, batchId, { event: "OPERATOR_CANCEL", ...by });
  }

  /**
   * How many commands {@link cancelBatch} would cancel now.
   *
   * @throws TallymanError BATCH_NOT_FOUND
   */
  countCancelable(domain: string, batchId: string): Promise<number> {
    return this.#batches.countCancelable(domain, batchId);
  }

  /** A batch of this domain, or null. */
  getBatch(domain: string, batchId: string): Promise<BatchMetadata | null> {
    return this.#batches.get(domain, batchId);
  }

  /** A batch of any domain, or null: for tools that were given nothing but the id. */
  async findBatch(batchId: string): Promise<BatchMetadata | null> {
    refuseBadUuid("batchId", batchId);
    const [batch = null] = await selectBatchesById(this.database, [batchId]);
    return batch;
  }

  /** Batches of a domain, newest first. */
  listBatches(domain: string, page: GivenOptions<PageOptions<BatchStatus>> = {}): Promise<BatchMetadata[]> {
    return this.#batches.list(domain, page);
  }

  /** Batches of all domains, newest first. */
  listAllBatches(page: GivenOptions<PageOptions<BatchStatus>> = {}): Promise<BatchMetadata[]> {
    return this.#batches.list(null, page);
  }

  /** Commands of a batch, in the order in which they were sent. */
  listBatchCommands(
    domain: string,
    batchId: string,
    page: GivenOptions<PageOptions<CommandStatus>> = {},
  ): Promise<CommandMetadata[]> {
    return this.#batches.listCommands(domain, batchId, page);
  }

  /**
   * Resolves when the batch has completed, with or without failures.
   *
   * @throws TallymanError BATCH_NOT_FOUND; ABORTED when the signal, or the closing of the bus, ended the wait
   */
  waitForBatch(
    domain: string,
    batchId: string,
    { signal }: { signal?: AbortSignal } = {},
  ): Promise<BatchMetadata> {
    return this.#batches.wait(domain, batchId, signal);
  }

  /** The batch at once and after every change, looked for each `intervalMs` (default 250), until it has completed. */
  watchBatch(
    domain: string,
    batchId: string,
    options: { intervalMs?: number; signal?: AbortSignal } = {},
  ): AsyncGenerator<BatchMetadata> {
    return this.#batches.watch(domain, batchId, options);
  }

  /** One command, or null. */
  async getCommand(domain: string, commandId: string): Promise<CommandMetadata | null> {
    refuseBadUuid("commandId", commandId);
    return selectCommand(this.database, domain, commandId);
  }

  /** Commands of a domain by descending id: the newest first, unless their senders chose the ids. */
  async listCommands(
    domain: string,
    given: GivenOptions<CommandListOptions> = {},
  ): Promise<CommandMetadata[]> {
    const { limit, cursor } = resolveOptions<CommandListOptions>({ limit: 100, cursor: undefined }, given, {
      limit: wholeNumber({ max: listPageMax }),
    });
    if (cursor !== undefined) refuseBadUuid("cursor", cursor);
    return selectCommands(this.database, domain, { limit, cursor: cursor ?? null });
  }

  /**
   * Cancels a command that nobody has begun, or that is in the troubleshooting queue.
   *
   * @throws TallymanError COMMAND_NOT_FOUND; InvalidOperationError when it is running or has ended
   */
  async cancelCommand(
    domain: string,
    commandId: string,
    { operator, reason }: OperatorOptions & { readonly reason?: string },
  ): Promise<void> {
    refuseBadUuid("commandId", commandId);
    const details = { operator, ...(reason !== undefined && { reason }) };
    const completed = await this.database.transaction((tx) => cancelWaiting(tx, domain, commandId, details));
    if (completed) this.completed(completed);
    else await this.tsq.cancel({ domain, commandIds: [commandId] }, details);
  }

  /** Everything that happened to a command, in order. */
  async history(domain: string, commandId: string): Promise<AuditEvent[]> {
    refuseBadUuid("commandId", commandId);
    return selectHistory(this.database, domain, commandId);
  }

  /** What happened to a batch itself: BATCH_STARTED, BATCH_COMPLETED. */
  async batchHistory(domain: string, batchId: string): Promise<AuditEvent[]> {
    refuseBadUuid("batchId", batchId);
    return selectBatchHistory(this.database, domain, batchId);
  }

  /** Audit events of all commands and batches, newest first. */
  async audit(given: GivenOptions<AuditOptions> = {}): Promise<AuditEvent[]> {
    return selectAudit(this.database, resolveAuditPage(given));
  }

  /** The replies of a queue. */
  replies(queue: string): ReplyQueue {
    return new ReplyQueue(this.database, this.hints, queue);
  }

  /** No worker gets commands of this domain any more; those that run finish. @throws TallymanError INVALID_OPTION */
  async pauseDomain(domain: string, { operator }: { operator: string }): Promise<void> {
    refuseBadDomain(domain);
    await setPaused(this.database, domain, true, operator);
  }

  /** Hands the domain's commands out again. */
  async resumeDomain(domain: string, { operator }: { operator: string }): Promise<void> {
    await setPaused(this.database, domain, false, operator);
    void this.hints.commandsReady(domain);
  }

  /** A worker on this bus; start it. */
  worker(options: GivenOptions<WorkerOptions>): Worker {
    return new Worker(this, options);
  }

  /** Backlog, troubles and throughput of every domain that has any. */
  domains(): Promise<DomainStats[]> {
    return selectDomains(this.database);
  }

  /** How many batches have not ended, and how many of them wait for a person. */
  countBatches(): Promise<BatchCounts> {
    return selectBatchCounts(this.database);
  }

  /** Backlog, age and health of the tables. */
  stats(): Promise<BusStats> {
    return selectStats(this.database);
  }

  /** Counts all batches anew: an empty `miscounts` proves that every stored counter is right. */
  recount(): Promise<{ batches: number; miscounts: Miscount[] }> {
    return recountBatches(this.database);
  }

  /** Deletes what is old, as workers with a `retention` do by themselves. */
  prune(retention: RetentionOptions): Promise<Pruned> {
    return this.maintenance.prune(retention);
  }

  /** Ends watches and waits; callbacks that are running finish first. Safe to call twice. */
  async close(): Promise<void> {
    await this.#watcher.stop();
    await this.hints.flush();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** @internal The same bus, with its registered types, on another view of the database. */
  on(database: Database): CommandBus {
    return new CommandBus(database, this.#options, this.schemas);
  }

  /** @internal */
  completed(batchIds: readonly string[]): void {
    this.#batches.completed(batchIds);
  }

  /** @internal Commands checked as by {@link send}, as JSON objects without ids: to be sent later, and again. */
  async templates(domain: string, commands: readonly BatchCommand[]): Promise<string[]> {
    const templates: string[] = [];
    for await (const chunk of this.#prepare(domain, commands).chunks())
      templates.push(...chunk.map(templateOf));
    return templates;
  }

  #prepare(domain: string, commands: readonly BatchCommand[], priority?: number): Preparation {
    const { payloadBytesMax } = this.#options;
    const rules = { schemas: this.schemas, payloadBytesMax, ...(priority !== undefined && { priority }) };
    return new Preparation(domain, commands, rules);
  }
}
