import { CommanderError } from "commander";
import { exitCodes } from "../errors/index.ts";
import { interruptedExitCode } from "./interrupt.ts";
import { type GlobalOptions, reportError } from "./output.ts";
import { createProgram } from "./program.ts";

/** Runs one command line and returns its exit code; never throws. */
export async function execute(args: readonly string[]): Promise<number> {
  const program = createProgram();
  try {
    await program.parseAsync(args, { from: "user" });
    return Number(process.exitCode ?? exitCodes.ok);
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
    const exitCode = reportError(error, program.opts<GlobalOptions>());
    return interruptedExitCode() ?? exitCode;
  }
}
