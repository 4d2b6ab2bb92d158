import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { TallymanError } from "../../errors/index.ts";
import type { Binaries } from "./binaries.ts";
import type { DataFolder } from "./data-folder.ts";
import { runProgram } from "./run-program.ts";
import type { ServerUser } from "./server-user.ts";

/** How long `pg_ctl` waits for the server; crash recovery of a large database takes a while. */
const startSeconds = 120;
const stopSeconds = 60;
const logLinesInError = 8;

/** What is needed to start and stop the server of one folder. */
export interface Postmaster {
  readonly folder: DataFolder;
  readonly binaries: Binaries;
  readonly user: ServerUser | undefined;
  /** A fixed port; undefined: the last one when it is still free, else any free one. */
  readonly port: number | undefined;
  /** Server settings for this start, beyond those in postgresql.conf. */
  readonly settings: Readonly<Record<string, string>>;
}

/** What the server's pid file says. */
export interface PidFile {
  readonly port: number;
  /** Whether that process still exists and is a PostgreSQL: a pid file outlives a crash. */
  readonly isAlive: boolean;
}

/** Reads the pid file of the server that runs, or last crashed, in this folder. */
export async function readPidFile(folder: DataFolder): Promise<PidFile | undefined> {
  const text = await readFile(join(folder.data, "postmaster.pid"), "utf8").catch(() => "");
  const [pid, , , port] = text.split("\n").map(Number);
  if (!pid || !port) return undefined;
  return { port, isAlive: await isPostgres(pid) };
}

async function isPostgres(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
  }
  if (process.platform !== "linux") return true;
  const command = await readFile(`/proc/${pid}/comm`, "utf8").catch(() => "");
  return command.trim() === "postgres";
}

/**
 * Starts the server and waits until it accepts connections. When another process starts it at the
 * same moment one of the two fails on the server's own pid file: the caller looks again.
 */
export async function startPostmaster(postmaster: Postmaster): Promise<void> {
  const port = await choosePort(postmaster);
  const settings = Object.entries(postmaster.settings).map(([name, value]) => `-c ${name}=${value}`);
  try {
    await pgCtl(postmaster, [
      "start",
      ...["-l", postmaster.folder.log, "-w", "-t", String(startSeconds)],
      ...["-o", ["-p", port, ...settings].join(" ")],
    ]);
    await writeFile(portFile(postmaster.folder), String(port));
  } catch (cause) {
    throw new TallymanError(
      "EMBEDDED_START_FAILED",
      `The embedded PostgreSQL in ${postmaster.folder.folder} did not start. Its log ends with: ${await logTail(postmaster.folder.log)}`,
      { cause, details: { log: postmaster.folder.log, port } },
    );
  }
}

/** Stops the server; its clients are disconnected, what they committed is on disk. */
export async function stopPostmaster(postmaster: Postmaster): Promise<void> {
  await pgCtl(postmaster, ["stop", "-m", "fast", "-w", "-t", String(stopSeconds)]);
}

function pgCtl(postmaster: Postmaster, args: readonly string[]): Promise<string> {
  const { binaries, folder, user } = postmaster;
  return runProgram(binaries.pgCtl, [...args, "-D", folder.data], { cwd: folder.folder, user });
}

/** The port of the last start, so that pools of other processes find a restarted server again. */
function portFile(folder: DataFolder): string {
  return join(folder.folder, "port");
}

async function choosePort(postmaster: Postmaster): Promise<number> {
  if (postmaster.port !== undefined) {
    if (await isFree(postmaster.port)) return postmaster.port;
    throw new TallymanError(
      "PORT_TAKEN",
      `Port ${postmaster.port} for the embedded PostgreSQL is taken by another process. Choose another one, or let Tallyman pick a free one.`,
      { details: { port: postmaster.port } },
    );
  }
  const last = Number(await readFile(portFile(postmaster.folder), "utf8").catch(() => "0"));
  return last > 0 && (await isFree(last)) ? last : freePort();
}

/** A free TCP port on loopback. */
export async function freePort(): Promise<number> {
  return (await listenOnce(0)) ?? Promise.reject(new Error("no free port on loopback"));
}

async function isFree(port: number): Promise<boolean> {
  return (await listenOnce(port)) !== undefined;
}

function listenOnce(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(undefined));
    server.listen(port, "127.0.0.1", () => {
      const { port: bound } = server.address() as { port: number };
      server.close(() => resolve(bound));
    });
  });
}

async function logTail(log: string): Promise<string> {
  const text = await readFile(log, "utf8").catch(() => "(no log)");
  return text.trimEnd().split("\n").slice(-logLinesInError).join(" | ");
}
