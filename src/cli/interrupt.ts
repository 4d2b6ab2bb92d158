import { constants } from "node:os";
import { TallymanError } from "../errors/index.ts";

/** What ends a command: Ctrl+C, a supervisor, a closed terminal. */
export const interruptSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

const interrupted = new AbortController();
let received: NodeJS.Signals | undefined;

/** Aborted by Ctrl+C, SIGTERM or a closed terminal, so that a command can leave its database in order. */
export const interruption: AbortSignal = interrupted.signal;

/** From now on the first signal asks the command to end; a second one ends the process at once. */
export function listenForInterruption(): void {
  for (const signal of interruptSignals) {
    process.on(signal, () => {
      if (received) process.exit(exitCodeOf(signal));
      received = signal;
      interrupted.abort(new TallymanError("ABORTED", `Interrupted by ${signal}.`));
    });
  }
}

/** A command that another process of ours started ends with it, however that one ended: its channel breaks. */
export function stopWithParent(): void {
  if (!process.channel) return;
  process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
  process.channel.unref();
}

/** The exit code of an interrupted process; undefined when it was not. */
export function interruptedExitCode(): number | undefined {
  return received && exitCodeOf(received);
}

/** Rejects when the command is interrupted before `work` has ended. */
export async function untilInterrupted<T>(work: Promise<T>): Promise<T> {
  work.catch(() => undefined); // it may fail after the interruption has won
  interruption.throwIfAborted();
  let stop = () => {};
  const interruptedFirst = new Promise<never>((_, reject) => {
    stop = () => reject(interruption.reason);
    interruption.addEventListener("abort", stop, { once: true });
  });
  return Promise.race([work, interruptedFirst]).finally(() =>
    interruption.removeEventListener("abort", stop),
  );
}

function exitCodeOf(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}
