import { Type } from "typebox";
import type { BatchCommand, CommandMetadata } from "../../commands/index.ts";
import type { Caller } from "../../operators/index.ts";
import { shownPayload } from "../payloads.ts";
import { closed, type RouteContext } from "../route.ts";
import { MaybeInteger, MaybeText, MaybeTimestamp, Name, oneOf, Timestamp, toDate, Uuid } from "../schemas.ts";

/** The states of a command. */
export const CommandStatusText = oneOf([
  "PENDING",
  "IN_PROGRESS",
  "COMPLETED",
  "FAILED",
  "CANCELED",
  "IN_TROUBLESHOOTING_QUEUE",
]);

/** A command as it is shown. */
export const Command = Type.Object(
  {
    domain: Type.String(),
    commandId: Uuid,
    commandType: Type.String(),
    status: CommandStatusText,
    data: Type.Unknown(),
    batchId: MaybeText,
    correlationId: Uuid,
    replyTo: MaybeText,
    priority: Type.Integer(),
    attempts: Type.Integer(),
    maxAttempts: MaybeInteger,
    lostLeases: Type.Integer(),
    result: Type.Unknown(),
    errorCode: MaybeText,
    errorMessage: MaybeText,
    errorSignature: MaybeText,
    createdAt: Timestamp,
    runAt: MaybeTimestamp,
    finishedAt: MaybeTimestamp,
    troubleshootingAt: MaybeTimestamp,
  },
  closed,
);

/** A command that somebody sends. */
export const NewCommand = Type.Object(
  {
    commandType: Name,
    data: Type.Unknown(),
    commandId: Type.Optional(Uuid),
    replyTo: Type.Optional(Name),
    correlationId: Type.Optional(Uuid),
    priority: Type.Optional(Type.Integer({ minimum: -2_147_483_648, maximum: 2_147_483_647 })),
    runAt: Type.Optional(Timestamp),
    maxAttempts: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 })),
  },
  closed,
);

type NewCommandData = Omit<BatchCommand, "runAt" | "domain"> & { readonly runAt?: string };

/** JSON as the library takes it. */
export function toCommand({ runAt, ...command }: NewCommandData): BatchCommand {
  return { ...command, ...(runAt !== undefined && { runAt: toDate("runAt", runAt) }) };
}

/** A command as this caller may see it. */
export function shownCommand(
  command: CommandMetadata,
  caller: Caller,
  context: RouteContext,
): CommandMetadata {
  return {
    ...command,
    data: shownPayload(command.data, caller, context),
    result: shownPayload(command.result, caller, context),
  };
}

/** An event of the audit. */
export const AuditEvent = Type.Object(
  {
    auditId: Type.Integer(),
    domain: Type.String(),
    commandId: MaybeText,
    batchId: MaybeText,
    eventType: Type.String(),
    createdAt: Timestamp,
    details: Type.Unknown(),
  },
  closed,
);
