/**
 * Runtime: what every slice needs to run for a long time and to end cleanly.
 *
 * **Time.** Code that waits takes a {@link Clock}; durations are monotonic, and every wait takes an
 * AbortSignal and ends with ABORTED when that is aborted. Nothing here compares a local time with a stored one.
 *
 * **Services.** A {@link Service} is a loop around `runOnce()` with four states:
 *
 * ```
 *              start              pause
 *   STOPPED ──────────► RUNNING ─────────► PAUSED      stop: RUNNING, PAUSED → STOPPED
 *   ERROR   ──────────►         ◄─────────             a failure: RUNNING, PAUSED → ERROR
 *                                 resume
 * ```
 *
 * Lifecycle calls take effect in the order in which they were made. stop() aborts the loop's signal at once,
 * waits for the running turn, then runs the final flush (`onStop`), which also runs after a failure: whatever
 * happened, resources are released. A failure is logged once, kept, and touches no other service.
 * {@link runUntilSignal} is a process made of services.
 *
 * **Group commit.** {@link GroupCommitBuffer} turns many single writes into few large ones. Its invariants:
 * one flush at a time, order kept, every add() settles exactly once, never more than `itemsMax` in a flush nor
 * more than `pendingMax` held. A failed flush is the failure of its items, not of the buffer.
 *
 * **Options** are resolved, checked and frozen once, at the edge ({@link resolveOptions}).
 *
 * **Logging** is one process-wide sink behind named loggers; it can be replaced at any time. INFO is for
 * lifecycle only, never in loops; a record is one line; secrets are masked before any sink sees them.
 */
export { abortedError, isAbort, linkedAbort, throwIfAborted } from "./abort.ts";
export { type BackoffOptions, backoffMs, type RetryOptions, retry } from "./backoff.ts";
export { type Clock, systemClock } from "./clock.ts";
export { armCrashPoints, crashPoint } from "./crash-point.ts";
export { GroupCommitBuffer, type GroupCommitBufferOptions } from "./group-commit-buffer.ts";
export {
  configureLogging,
  currentLogging,
  type Logger,
  type LoggingOptions,
  type LogLevel,
  type LogRecord,
  type LogSink,
  logger,
} from "./logger.ts";
export { nameRule } from "./name-rule.ts";
export {
  type GivenOptions,
  numberBetween,
  type OptionDefaults,
  type OptionRule,
  type OptionRules,
  oneOf,
  required,
  resolveOptions,
  wholeNumber,
} from "./options.ts";
export { isSecretKey, redactText } from "./redact.ts";
export { runningServices, Service, type ServiceState, type ServiceStateListener } from "./service.ts";
export { runUntilSignal, type ShutdownOptions } from "./shutdown.ts";
export { type Deferred, deferred, sleep, WakeUp, withTimeout } from "./wait.ts";
