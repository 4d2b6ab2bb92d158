/** Where a command is in its life. */
export type CommandStatus =
  | "PENDING"
  | "IN_PROGRESS"
  | "COMPLETED"
  | "FAILED"
  | "CANCELED"
  | "IN_TROUBLESHOOTING_QUEUE";

/** What a sender says about one command. */
export interface SendOptions<Data = unknown> {
  /** Unique in its domain. Default: a new UUID. */
  readonly commandId?: string;
  /** Anything that JSON can hold. */
  readonly data: Data;
  /** The queue that gets a reply when the command has ended. */
  readonly replyTo?: string;
  /** Comes back in the reply. Default: the command's id. */
  readonly correlationId?: string;
  /** Higher runs first. Default 0, or the batch's priority. */
  readonly priority?: number;
  /** Not before this time. Default: at once. */
  readonly runAt?: Date;
  /** Attempts before the troubleshooting queue; wins over the worker's own setting. */
  readonly maxAttempts?: number;
}

/** One command of a batch, or of `sendMany`. */
export interface BatchCommand<Data = unknown> extends SendOptions<Data> {
  readonly commandType: string;
  /** All commands of a call belong to its domain; naming another is an error. */
  readonly domain?: string;
}

/** A command as queries return it. */
export interface CommandMetadata {
  readonly domain: string;
  readonly commandId: string;
  readonly commandType: string;
  readonly status: CommandStatus;
  readonly data: unknown;
  readonly batchId: string | null;
  readonly correlationId: string;
  readonly replyTo: string | null;
  readonly priority: number;
  /** Handlers that were started for it. */
  readonly attempts: number;
  readonly maxAttempts: number | null;
  /** Workers that were lost while they held it. */
  readonly lostLeases: number;
  /** What the handler, or the operator who completed it, returned. */
  readonly result: unknown;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
  /** The error without its variable parts: commands that failed alike have the same. */
  readonly errorSignature: string | null;
  readonly createdAt: Date;
  /** When it will run; null unless it waits. */
  readonly runAt: Date | null;
  readonly finishedAt: Date | null;
  /** Since when it is in the troubleshooting queue; null when it is not. */
  readonly troubleshootingAt: Date | null;
}

/** A command as its handler receives it. */
export interface ReceivedCommand<Data = unknown> {
  readonly domain: string;
  readonly commandId: string;
  readonly commandType: string;
  readonly data: Data;
  readonly batchId: string | null;
  readonly correlationId: string;
  readonly replyTo: string | null;
  readonly priority: number;
  /** 1 for the first handler that is started for it. */
  readonly attempt: number;
  readonly lostLeases: number;
  readonly createdAt: Date;
}
