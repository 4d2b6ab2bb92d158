import { spawn } from "node:child_process";
import { TallymanError } from "../../errors/index.ts";
import type { ServerUser } from "./server-user.ts";

/** Output of a failed program that goes into the error message. */
const outputCharactersMax = 2000;

/**
 * Runs one of PostgreSQL's programs to its end, as the server's user, and fails with what it printed.
 * The environment is bare: a PGPORT or PGDATA of the shell must not reach the embedded server.
 */
export async function runProgram(
  program: string,
  args: readonly string[],
  options: { cwd: string; user: ServerUser | undefined },
): Promise<string> {
  const child = spawn(program, args, {
    cwd: options.cwd,
    env: { PATH: process.env.PATH, LC_ALL: "C", TZ: "UTC", HOME: options.cwd },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true, // Ctrl+C is for us: a program that dies half-way leaves a mess
    ...(options.user && { uid: options.user.uid, gid: options.user.gid }),
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output = (output + text).slice(-outputCharactersMax);
    });
  }
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code === 0) return output;
  throw new TallymanError("EMBEDDED_START_FAILED", `${program} ended with ${code}: ${output.trim()}`, {
    details: { program, code, output },
  });
}
