import { errorCodeOf, retryClassOf } from "../database/index.ts";
import { isTallymanError } from "../errors/index.ts";
import { errorSignature } from "./error-signature.ts";
import { BusinessRuleError, PermanentError } from "./errors.ts";
import type { ClaimedRow } from "./sql/claim.ts";
import type { Settlement } from "./sql/settle.ts";

/** How often and when a failed command is tried again. */
export interface RetryPolicy {
  readonly maxAttempts: number;
  /** Delay after the first, second, … failed attempt; the last repeats. */
  readonly backoffMs: readonly number[];
}

const messageLettersMax = 10_000;
const codeLettersMax = 255;
/** A database that is away is not the command's fault: it is tried again soon, at no cost. */
const outageDelayMs = 1_000;

/** The command's next step after its handler threw. Pure. */
export function settlementOfFailure(claimed: ClaimedRow, error: unknown, policy: RetryPolicy): Settlement {
  const base = { id: claimed.id, delivery: claimed.delivery };
  if (isOutage(error)) {
    return {
      ...base,
      outcome: "RETRY",
      event: "RETRY_SCHEDULED",
      delayMs: outageDelayMs,
      error: describeError(error),
    };
  }
  const failed = { ...base, isAttempt: true, error: describeError(error) };
  if (error instanceof BusinessRuleError) return { ...failed, outcome: "FAILED", event: "FAILED" };
  const attempts = claimed.attempts + 1;
  const isExhausted = attempts >= (claimed.maxAttempts ?? policy.maxAttempts);
  if (isExhausted || isPermanent(error)) {
    return { ...failed, outcome: "IN_TROUBLESHOOTING_QUEUE", event: "MOVED_TO_TSQ" };
  }
  return {
    ...failed,
    outcome: "RETRY",
    event: "RETRY_SCHEDULED",
    delayMs: backoffAfter(attempts, policy.backoffMs),
  };
}

/** The delay after the failed attempt number `attempts`. */
export function backoffAfter(attempts: number, backoffMs: readonly number[]): number {
  return backoffMs[Math.min(attempts, backoffMs.length) - 1] ?? 0;
}

/** An error as it is stored: code, message and kind. Anything can be thrown, and nothing makes this fail. */
export function describeError(error: unknown): NonNullable<Settlement["error"]> {
  const { name, message: text, code } = (error ?? {}) as Record<string, unknown>;
  const isError = error instanceof Error;
  const kind = storable(isError && typeof name === "string" ? name : "Error", codeLettersMax);
  const message = storable(isError && typeof text === "string" ? text : textOf(error), messageLettersMax);
  return {
    code: typeof code === "string" ? storable(code, codeLettersMax) : kind,
    message,
    signature: errorSignature(kind, message),
  };
}

function storable(text: string, lettersMax: number): string {
  return text.replaceAll("\u0000", "").slice(0, lettersMax);
}

/** What String() says, also of what it can't convert. */
export function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return `something without a text, of type ${typeof value}`;
  }
}

function isPermanent(error: unknown): boolean {
  return (
    error instanceof PermanentError ||
    isTallymanError(error, "COMMAND_INVALID") ||
    isTallymanError(error, "COMMAND_TYPE_UNKNOWN")
  );
}

/** States of the server that pass: read-only after a failover, a full disk. */
const passingStates = new Set(["25006", "53100"]);

/** Whether the database was away or busy, and not the statement wrong: then it may be tried again as it is. */
export function isDatabaseAway(error: unknown): boolean {
  return (
    retryClassOf(error) !== undefined ||
    isTallymanError(error, "COMMIT_UNKNOWN") ||
    isTallymanError(error, "DATABASE_POOL_EXHAUSTED") ||
    passingStates.has(errorCodeOf(error) ?? "")
  );
}

/** Errors that came from our own transaction; a handler's other connections are its own affair. */
const outages = new WeakSet<object>();

export function markOutage(error: unknown): void {
  if (isDatabaseAway(error)) outages.add(error as object);
}

function isOutage(error: unknown): boolean {
  return typeof error === "object" && error !== null && outages.has(error);
}
