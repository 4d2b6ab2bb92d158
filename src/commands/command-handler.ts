import type { Transaction } from "../database/index.ts";
import type { ReceivedCommand } from "./command.ts";

/** What a handler can do beside its own work. */
export interface CommandContext {
  /**
   * Aborted when the handler's time is over, when its worker has lost the lease (another may run the command
   * by now), or when the worker stops and the handler has used up the time for draining.
   */
  readonly signal: AbortSignal;
  /**
   * More time for a handler that makes progress: its timeout starts anew, with `ms` or the worker's own.
   *
   * @throws TallymanError LEASE_LOST; INVALID_OPTION for what is no time
   */
  extend(ms?: number): Promise<void>;
  /**
   * Exactly-once effects: what `work` writes commits together with the command's completion, or not at all.
   * Its return value is the command's result. Once per attempt, as the last thing that the handler does. `work`
   * runs again after a deadlock, so it should do nothing but write through `tx`.
   *
   * @throws TallymanError LEASE_LOST when the command is no longer this worker's: nothing was written
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
}

/**
 * Does a command's work; what it returns is the result that its sender gets. To fail, throw: a
 * `PermanentError` or `BusinessRuleError` ends the command, anything else is tried again.
 */
export type CommandHandler<Data = unknown> = (
  command: ReceivedCommand<Data>,
  context: CommandContext,
) => unknown | Promise<unknown>;
