import { TallymanError } from "../errors/index.ts";
import { nameRule } from "../runtime/index.ts";
import type { BatchCommand } from "./command.ts";
import { newCommandId, refuseBadUuid } from "./command-id.ts";

/** A command that can be stored: checked, its id in one spelling, its data as JSON text. */
export interface SerializedCommand {
  readonly commandId: string;
  readonly commandType: string;
  readonly data: string;
  readonly correlationId: string | undefined;
  readonly replyTo: string | undefined;
  readonly priority: number | undefined;
  readonly maxAttempts: number | undefined;
  readonly runAt: Date | undefined;
}

/** Of an `integer` in PostgreSQL. */
export const priorityMax = 2 ** 31 - 1;

/** What JSON can say and PostgreSQL's jsonb can't: the NUL character and halves of surrogate pairs. */
const unstorable = /(?:^|[^\\])(?:\\\\)*\\u(?:0000|d[89a-f])/;

/** JSON text that jsonb takes, or undefined for what has none (a function, a BigInt, a circle, a NUL character). */
export function storableJson(value: unknown): string | undefined {
  const json = jsonOf(value);
  return json === undefined || unstorable.test(json) ? undefined : json;
}

function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/**
 * Checks a command and makes its JSON.
 *
 * @throws TallymanError COMMAND_INVALID, COMMAND_TOO_LARGE
 */
export function serializeCommand(
  domain: string,
  command: BatchCommand,
  limits: { readonly payloadBytesMax: number; readonly priority?: number },
): SerializedCommand {
  const commandId = command.commandId ?? newCommandId();
  refuseBadUuid("commandId", commandId);
  if (command.correlationId !== undefined) refuseBadUuid("correlationId", command.correlationId);
  refuseBadNames(domain, command, commandId);
  refuseBadNumbers(command, commandId);
  const { commandType, correlationId, replyTo, maxAttempts, runAt } = command;
  return {
    commandId: commandId.toLowerCase(),
    commandType,
    data: dataJson(command, commandId, limits.payloadBytesMax),
    correlationId,
    replyTo,
    priority: command.priority ?? limits.priority,
    maxAttempts,
    runAt,
  };
}

/** The command as one line of JSON without its id: what is stored now and sent later, each time under an id of its own. */
export function templateOf(command: SerializedCommand): string {
  const { commandType, data, correlationId, replyTo, priority, maxAttempts } = command;
  const options = JSON.stringify({
    command_type: commandType,
    correlation_id: correlationId,
    reply_to: replyTo,
    priority,
    max_attempts: maxAttempts,
  });
  return `${options.slice(0, -1)},"data":${data}}`;
}

function dataJson({ commandType, data }: BatchCommand, commandId: string, bytesMax: number): string {
  const json = storableJson(data);
  if (json === undefined) {
    throw invalid(commandId, `the data of ${commandType} is not JSON that can be stored`);
  }
  // UTF-8 has at most three bytes for each unit of a string's length: most commands need no count.
  const bytes = json.length * 3 <= bytesMax ? json.length : Buffer.byteLength(json);
  if (bytes <= bytesMax) return json;
  throw new TallymanError(
    "COMMAND_TOO_LARGE",
    `The data of command ${commandId} (${commandType}) is ${bytes} bytes; the limit is ${bytesMax}. Send a reference to it instead, or raise payloadBytesMax.`,
    { details: { commandId, bytes, bytesMax } },
  );
}

function refuseBadNames(domain: string, command: BatchCommand, commandId: string): void {
  const names = { domain, commandType: command.commandType, replyTo: command.replyTo ?? "-" };
  for (const [name, value] of Object.entries(names)) {
    const fault = nameRule(value);
    if (fault) throw invalid(commandId, `${name} must be ${fault}`);
  }
  if (command.domain !== undefined && command.domain !== domain) {
    throw invalid(
      commandId,
      `it names domain '${command.domain}', but all commands of this call are for '${domain}'`,
    );
  }
}

/** @throws TallymanError INVALID_OPTION */
export function refuseBadDomain(domain: string): void {
  const fault = nameRule(domain);
  if (fault === undefined) return;
  throw new TallymanError("INVALID_OPTION", `A domain's name must be ${fault}.`, {
    details: { option: "domain" },
  });
}

function refuseBadNumbers({ priority, maxAttempts, runAt }: BatchCommand, commandId: string): void {
  if (priority !== undefined && !(Number.isInteger(priority) && Math.abs(priority) <= priorityMax)) {
    throw invalid(commandId, `priority must be a whole number of at most ${priorityMax}`);
  }
  if (
    maxAttempts !== undefined &&
    !(Number.isInteger(maxAttempts) && maxAttempts >= 1 && maxAttempts <= priorityMax)
  ) {
    throw invalid(commandId, "maxAttempts must be a whole number of at least 1");
  }
  if (runAt !== undefined && Number.isNaN(runAt.getTime()))
    throw invalid(commandId, "runAt must be a valid date");
}

function invalid(commandId: string, what: string): TallymanError {
  return new TallymanError("COMMAND_INVALID", `Command ${commandId} can't be sent: ${what}.`, {
    details: { commandId },
  });
}
