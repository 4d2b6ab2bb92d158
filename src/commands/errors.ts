import { TallymanError } from "../errors/index.ts";

/** A command with this id exists in the domain; nothing of the call was stored. */
export class DuplicateCommandError extends TallymanError {
  override readonly name = "DuplicateCommandError";
  readonly domain: string;
  readonly commandId: string;

  constructor(domain: string, commandId: string, cause?: unknown) {
    super(
      "COMMAND_DUPLICATE",
      `Command ${commandId} exists in domain '${domain}' already; nothing was stored.`,
      {
        cause,
        details: { domain, commandId },
      },
    );
    this.domain = domain;
    this.commandId = commandId;
  }
}

/** Commands were to be added to a batch that takes no more. */
export class BatchSealedError extends TallymanError {
  override readonly name = "BatchSealedError";
  readonly batchId: string;

  constructor(batchId: string, cause?: unknown) {
    super(
      "BATCH_SEALED",
      `Batch ${batchId} is sealed: it takes no more commands. Create another, or an open one.`,
      { cause, details: { batchId } },
    );
    this.batchId = batchId;
  }
}

/** An operator's action does not fit the state of its command. */
export class InvalidOperationError extends TallymanError {
  override readonly name = "InvalidOperationError";
  /** The state that the command is in. */
  readonly status: string;

  constructor(operation: string, commandId: string, status: string) {
    super(
      "INVALID_OPERATION",
      `Can't ${operation} command ${commandId}: it is ${status}, not IN_TROUBLESHOOTING_QUEUE.`,
      { details: { operation, commandId, status } },
    );
    this.status = status;
  }
}

/**
 * Thrown by a handler: the failure may pass, so the command is tried again after a delay. Errors that are
 * none of these classes count as transient.
 */
export class TransientError extends TallymanError {
  override readonly name = "TransientError";

  constructor(
    message: string,
    options: { cause?: unknown; details?: Readonly<Record<string, unknown>> } = {},
  ) {
    super("TRANSIENT_FAILURE", message, options);
  }
}

/** Thrown by a handler: no retry would help. The command goes to the troubleshooting queue at once. */
export class PermanentError extends TallymanError {
  override readonly name = "PermanentError";

  constructor(
    message: string,
    options: { cause?: unknown; details?: Readonly<Record<string, unknown>> } = {},
  ) {
    super("PERMANENT_FAILURE", message, options);
  }
}

/** Thrown by a handler: a rule of the business says no. The command ends as FAILED, and its sender gets a reply. */
export class BusinessRuleError extends TallymanError {
  override readonly name = "BusinessRuleError";

  constructor(
    message: string,
    options: { cause?: unknown; details?: Readonly<Record<string, unknown>> } = {},
  ) {
    super("BUSINESS_RULE", message, options);
  }
}
