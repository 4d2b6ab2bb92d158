import { create, toBinary } from "@bufbuild/protobuf";
import { DeadLetterMessageSchema } from "../contracts/index.ts";
import type { DeadLetterOptions, TopicMessage } from "./topic.ts";

const stackTraceLinesMax = 10;

/** The type of every dead-letter topic. */
export const deadLetterType = DeadLetterMessageSchema.typeName;

/** The dead letter that takes a message's place. */
export function deadLetterBytes(
  message: TopicMessage<unknown>,
  messageType: string,
  options: DeadLetterOptions,
): Uint8Array {
  const nowMs = Date.now();
  const { error, sourceService, retryCount, firstFailureTimeMs = nowMs } = options;
  return toBinary(
    DeadLetterMessageSchema,
    create(DeadLetterMessageSchema, {
      originalMessage: message.bytes,
      messageType,
      failureReason: reasonOf(error),
      retryCount: retryCount ?? message.deliveries - 1,
      sourceService,
      firstFailureTimeMs: BigInt(firstFailureTimeMs),
      lastFailureTimeMs: BigInt(nowMs),
      stackTraceLines: stackLinesOf(error),
    }),
  );
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
