/**
 * The command bus: commands that are done once each, batches that always finish, failures that can be repaired.
 *
 * **Model.** A command is a row; so is a batch, with counters. Commands wait in blocks of up to a hundred in a
 * queue beside their table. A worker takes whole blocks of its domain, under one lease per claim that names the
 * commands, runs their handlers, and settles the outcomes in groups. Settling is one stored function: it changes
 * the commands, writes audit and replies and, last, moves the batches' counters. A command's row is written when
 * it is sent and when it ends, not when it is claimed: IN_PROGRESS is what a lease says. Audit is stored one row
 * per event and group; the view `command_bus_audit` shows it one row per event and command.
 *
 * ```
 *            claim                  COMPLETED   handler returned
 *  PENDING ─────────► IN_PROGRESS ─► FAILED      BusinessRuleError
 *     ▲  ▲                │    │     CANCELED    its batch was cancelled, or an operator did it
 *     │  └── retry, lost ─┘    └───► IN_TROUBLESHOOTING_QUEUE   PermanentError, attempts used up, worker lost 10 times
 *     └────────────────── operator: retry ──────────┘   └──► operator: COMPLETED, CANCELED
 * ```
 *
 * **Invariants.** A batch's counters move in the transaction that changes its commands, so they equal a recount
 * at every moment (`recount`). A batch completes in exactly one transaction: the one that, holding the batch's row,
 * finds nothing left. An unfinished command is in exactly one place: a block of the queue, a lease, or the
 * troubleshooting queue. Each return to the queue raises its `delivery`, and an outcome counts only if the command
 * is unfinished and still has the delivery it was claimed with: a worker that was taken for dead changes nothing.
 * Attempts count handlers that were started; leases lost
 * with their worker count apart, so a crashing fleet does not use up commands that never ran.
 *
 * **Locks.** Blocks of the queue, then commands, then batches, each in the order of their keys; claims and reclaims
 * skip what is locked, and a claim that found nothing but locked blocks waits for one of them.
 *
 * **Delivery** is at least once, and effects written through `context.transaction()` are exactly once.
 *
 * **Failure.** A killed worker's commands come back after its lease. A group of outcomes that met a lost connection
 * is sent again; the fence makes the repetition harmless. Hints (NOTIFY) only shorten waits. In-memory `onComplete`
 * callbacks die with their process; a batch's `completion` command does not.
 */
export {
  type BatchCompletionCallback,
  type BatchMetadata,
  type BatchStatus,
  type CompletionCommand,
  type CreateBatchOptions,
  isFinished,
} from "./batch.ts";
export { batchCommandsMax, type CancelDecision, type PageOptions } from "./batches.ts";
export type {
  BatchCommand,
  CommandMetadata,
  CommandStatus,
  ReceivedCommand,
  SendOptions,
} from "./command.ts";
export { CommandBus } from "./command-bus.ts";
export type {
  AuditOptions,
  CommandBusOptions,
  CommandListOptions,
  TransactionOption,
} from "./command-bus-options.ts";
export type { CommandContext, CommandHandler } from "./command-handler.ts";
export { newCommandId } from "./command-id.ts";
export type { CommandType } from "./command-schemas.ts";
export {
  BatchSealedError,
  BusinessRuleError,
  DuplicateCommandError,
  InvalidOperationError,
  PermanentError,
  TransientError,
} from "./errors.ts";
export type { Pruned, RetentionOptions } from "./maintenance.ts";
export type { Reply, ReplyQueue } from "./reply-queue.ts";
export type { AuditEvent } from "./sql/audit.ts";
export type { BatchCounts } from "./sql/batch-counts.ts";
export type { DomainStats } from "./sql/domains.ts";
export { selectLostCommands } from "./sql/lost.ts";
export type { BusStats, Miscount } from "./sql/recount.ts";
export type { TsqCursor, TsqGroup } from "./sql/tsq.ts";
export type {
  OperatorOptions,
  TroubleshootingQueue,
  TsqFilter,
  TsqListOptions,
  TsqTarget,
} from "./troubleshooting-queue.ts";
export { Worker } from "./worker.ts";
export type { WorkerOptions } from "./worker-options.ts";
