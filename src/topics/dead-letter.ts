import { create, toBinary } from "@bufbuild/protobuf";
import { type DeadLetterMessage, DeadLetterMessageSchema } from "../contracts/index.ts";
import type { DeadLetterOptions, TopicMessage } from "./topic.ts";

const stackTraceLinesMax = 10;

/** The type of every dead-letter topic. */
export const deadLetterType = DeadLetterMessageSchema.typeName;

/** What is given up: its bytes and the full name of its type. */
export interface DeadLetterOriginal {
  readonly bytes: Uint8Array;
  readonly messageType: string;
}

/**
 * A dead letter about anything that can't be processed, also about what never was in a topic.
 *
 * @example
 * ```ts
 * const letter = deadLetterOf({ bytes, messageType: "tallyman.v1.TickData" }, { error, sourceService: "persistence" });
 * ```
 */
export function deadLetterOf(
  { bytes, messageType }: DeadLetterOriginal,
  options: Omit<DeadLetterOptions, "tx">,
): DeadLetterMessage {
  const nowMs = Date.now();
  const { error, sourceService, retryCount = 0, firstFailureTimeMs = nowMs } = options;
  return create(DeadLetterMessageSchema, {
    originalMessage: bytes,
    messageType,
    failureReason: reasonOf(error),
    retryCount,
    sourceService,
    firstFailureTimeMs: BigInt(firstFailureTimeMs),
    lastFailureTimeMs: BigInt(nowMs),
    stackTraceLines: stackLinesOf(error),
  });
}

/** The dead letter that takes a message's place. */
export function deadLetterBytes(
  message: TopicMessage<unknown>,
  messageType: string,
  options: DeadLetterOptions,
): Uint8Array {
  const retryCount = options.retryCount ?? message.deliveries - 1;
  const letter = deadLetterOf({ bytes: message.bytes, messageType }, { ...options, retryCount });
  return toBinary(DeadLetterMessageSchema, letter);
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

function stackLinesOf(error: unknown): string[] {
  const lines = error instanceof Error ? (error.stack ?? "").split("\n") : [];
  return lines
    .map((line) => line.trim())
    .filter((line) => line.startsWith("at "))
    .slice(0, stackTraceLinesMax);
}
