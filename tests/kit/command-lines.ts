import { type Command, CommanderError } from "commander";
import { createProgram } from "../../src/cli/program.ts";

/** What a line that only mentions a command may leave out. */
const omissions = ["commander.missingArgument", "commander.missingMandatoryOptionValue"];

const silent = { writeErr: () => {}, writeOut: () => {} };

/** The words of a shell's line behind `tallyman`; quotes are taken off, comments and what follows in a pipe left out. */
export function wordsOf(line: string): string[] {
  const [command = ""] = line.split(/ #| \| | && | & ?$/);
  return [...command.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, single, double, bare]) =>
    String(single ?? double ?? bare),
  );
}

/**
 * What the command line's own parser has against these words, without running them; undefined when nothing.
 *
 * @param isMention true for text that names a command without all it needs
 */
export async function problemOf(words: readonly string[], isMention = false): Promise<string | undefined> {
  const program = createProgram();
  program.configureOutput(silent);
  for (const command of program.commands) disarm(command);
  try {
    await program.parseAsync(words, { from: "user" });
    return undefined;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return undefined; // help, or the version
    return isMention && omissions.includes(error.code) ? undefined : `${words.join(" ")}: ${error.message}`;
  }
}

function disarm(command: Command): void {
  command.action(() => {}).configureOutput(silent);
  for (const child of command.commands) disarm(child);
}
