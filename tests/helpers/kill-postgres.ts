import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** Ends an embedded server as a crash would (SIGQUIT: no checkpoint); does nothing when it is down already. */
export async function killPostgres(folder: string): Promise<void> {
  const text = await readFile(join(folder, "data", "postmaster.pid"), "utf8").catch(() => "");
  const [pid = ""] = text.split("\n");
  if (pid === "") return;
  try {
    process.kill(Number(pid), "SIGQUIT");
  } catch (error) {
    // Its file outlives it.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
