import { JetStreamApiCodes, JetStreamApiError } from "@nats-io/jetstream";
import { errors } from "@nats-io/transport-node";
import { isTallymanError, TallymanError } from "../../errors/index.ts";
import { backoffMs, sleep, systemClock } from "../../runtime/index.ts";

/** How long a failure may take to pass: a cluster elects a leader in ten seconds, and on a busy machine not so soon. */
export const passingMsMax = 30_000;
const backoff = { initialMs: 50, maxMs: 2_000, factor: 2, jitter: 0.5 };
const unavailableStatus = 503;
const disconnectedPattern = /^connection (closed|disconnected)$/;

/** True when a stream, consumer or message is not there. */
export function isMissing(error: unknown): boolean {
  if (!(error instanceof JetStreamApiError)) return false;
  const missing: readonly number[] = [
    JetStreamApiCodes.ConsumerNotFound,
    JetStreamApiCodes.StreamNotFound,
    JetStreamApiCodes.NoMessageFound,
  ];
  return missing.includes(error.code);
}

/** True when another writer was first. */
export function isWrongSequence(error: unknown): boolean {
  return error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamWrongLastSequence;
}

/** True for what passes when a cluster has elected a new leader, or a server is back. */
export function isPassing(error: unknown): boolean {
  if (isTallymanError(error, "NATS_UNREACHABLE")) return isPassing(error.cause);
  if (error instanceof JetStreamApiError) return error.status === unavailableStatus;
  if (!(error instanceof Error)) return false;
  const cause = error.cause ?? error;
  return (
    error.name === "JetStreamNotEnabled" ||
    cause instanceof errors.TimeoutError ||
    cause instanceof errors.NoRespondersError ||
    (cause instanceof errors.RequestError && cause.isNoResponders())
  );
}

/** What a caller is told: NATS_UNREACHABLE for what passes and for a lost connection, which is nobody's fault. */
export function natsError(error: unknown): unknown {
  if (isTallymanError(error) || !(isPassing(error) || isDisconnected(error))) return error;
  const { message } = error as Error;
  return new TallymanError(
    "NATS_UNREACHABLE",
    `NATS does not answer: ${message}. Check that the server runs with JetStream enabled, and that a cluster has a leader.`,
    { cause: error },
  );
}

function isDisconnected(error: unknown): boolean {
  return (
    error instanceof errors.ClosedConnectionError ||
    error instanceof errors.DrainingConnectionError ||
    (error instanceof errors.RequestError && disconnectedPattern.test(error.message))
  );
}

/**
 * Runs an operation that may be repeated, again after each passing failure.
 *
 * @throws TallymanError NATS_UNREACHABLE when it does not pass
 */
export async function persistently<T>(operation: () => Promise<T>): Promise<T> {
  // By the clock: an attempt without a connection takes seconds by itself.
  const deadlineMs = systemClock.monotonicMs() + passingMsMax;
  for (let attempt = 1; ; attempt++) {
    try {
      return await operation();
    } catch (error) {
      if (!isPassing(error) || systemClock.monotonicMs() >= deadlineMs) throw natsError(error);
      await sleep(backoffMs(attempt, backoff));
    }
  }
}
