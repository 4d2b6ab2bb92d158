import type { BatchCommand } from "./command.ts";

/** The four states of a batch. */
export type BatchStatus = "PENDING" | "IN_PROGRESS" | "COMPLETED" | "COMPLETED_WITH_FAILURES";

/** A batch as queries return it. */
export interface BatchMetadata {
  readonly batchId: string;
  readonly domain: string;
  readonly name: string | null;
  readonly customData: Readonly<Record<string, unknown>> | null;
  readonly status: BatchStatus;
  readonly totalCount: number;
  readonly completedCount: number;
  readonly failedCount: number;
  readonly canceledCount: number;
  readonly inTroubleshootingCount: number;
  readonly createdAt: Date;
  /** When its first command was received. */
  readonly startedAt: Date | null;
  readonly completedAt: Date | null;
  /** False while it takes more commands; an open batch does not complete. */
  readonly isSealed: boolean;
  readonly priority: number;
  readonly expiresAt: Date | null;
  readonly canceledAt: Date | null;
}

/** Called once, in the process that created the batch, when the batch has completed. */
export type BatchCompletionCallback = (batch: BatchMetadata) => void | Promise<void>;

/**
 * The command that is enqueued by the very transaction that completes a batch. A command that has its id by then
 * is left as it is, and the batch completes all the same.
 */
export interface CompletionCommand
  extends Omit<BatchCommand<Readonly<Record<string, unknown>>>, "data" | "runAt"> {
  /** Its data; a field `batch` with the batch's id, status and counts is added. Default {}. */
  readonly data?: Readonly<Record<string, unknown>>;
}

/** How a batch is created. */
export interface CreateBatchOptions {
  /** For people. */
  readonly name?: string;
  readonly customData?: Readonly<Record<string, unknown>>;
  /** In memory: lost with this process. For certainty use `completion`, or ask with `getBatch`. */
  readonly onComplete?: BatchCompletionCallback;
  /** Durable: enqueued in the completing transaction. Its domain is the batch's unless named. */
  readonly completion?: CompletionCommand;
  /** Let it take more commands until `sealBatch`. Default false. */
  readonly open?: boolean;
  /** For commands that name none. Default 0. */
  readonly priority?: number;
  /** From then on, commands that nobody has begun are cancelled. */
  readonly expiresAt?: Date;
}

/** True when nothing about the batch will change any more. */
export function isFinished({ status }: Pick<BatchMetadata, "status">): boolean {
  return status === "COMPLETED" || status === "COMPLETED_WITH_FAILURES";
}
