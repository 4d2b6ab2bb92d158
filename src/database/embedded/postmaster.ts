import { open, readFile, readlink, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { isTallymanError, TallymanError } from "../../errors/index.ts";
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
  return { port, isAlive: await isPostmasterOf(folder, pid) };
}

async function isPostmasterOf(folder: DataFolder, pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
  }
  if (process.platform !== "linux") return true;
  // The number may belong to another program by now, or to another embedded server: each works in its own data folder.
  const workingFolder = await readlink(`/proc/${pid}/cwd`).catch(
    (error: NodeJS.ErrnoException) => error.code,
  );
  if (workingFolder !== "ENOENT") return workingFolder === folder.data;
  // A killed server that its parent has not reaped yet has no folder any more; another one can't start until then.
  const command = await readFile(`/proc/${pid}/comm`, "utf8").catch(() => "");
  return command.trim() === "postgres";
}

/**
 * Starts the server and waits until it accepts connections. When another process starts it at the
 * same moment one of the two fails on the server's own pid file: the caller looks again.
 */
export async function startPostmaster(postmaster: Postmaster): Promise<void> {
  const port = await choosePort(postmaster);
  await disarmStalePidFile(postmaster.folder);
  const settings = Object.entries(postmaster.settings).map(toFlag);
  const logStart = await logSize(postmaster.folder.log);
  try {
    await pgCtl(postmaster, [
      "start",
      ...["-l", "server.log", "-w", "-t", String(startSeconds)],
      ...["-o", ["-p", port, ...settings].join(" ")],
    ]);
    await writeFile(portFile(postmaster.folder), String(port));
  } catch (cause) {
    const said = isTallymanError(cause) ? String(cause.details.output ?? "").trim() : "";
    const reason = `${await logSince(postmaster.folder.log, logStart)} ${said}`
      .replaceAll(/\s+/g, " ")
      .trim();
    throw new TallymanError(
      "EMBEDDED_START_FAILED",
      `The embedded PostgreSQL in ${postmaster.folder.folder} did not start: ${reason}`,
      { cause, details: { log: postmaster.folder.log, port } },
    );
  }
}

const settingPattern = /^[\w.,:-]+$/;

/** pg_ctl passes its options through a shell, so nothing that a shell would read gets there. */
function toFlag([name, value]: [string, string]): string {
  if (settingPattern.test(name) && settingPattern.test(value)) return `-c ${name}=${value}`;
  throw new TallymanError(
    "INVALID_OPTION",
    `The server setting ${name} has a value that can't be passed on: use letters, digits and . , : - _ only.`,
    { details: { option: name } },
  );
}

/** Stops the server; its clients are disconnected, what they committed is on disk. */
export async function stopPostmaster(postmaster: Postmaster): Promise<void> {
  await pgCtl(postmaster, ["stop", "-m", "fast", "-w", "-t", String(stopSeconds)]);
}

function pgCtl(postmaster: Postmaster, args: readonly string[]): Promise<string> {
  const { binaries, folder, user } = postmaster;
  return runProgram(binaries.pgCtl, [...args, "-D", "data"], { cwd: folder.folder, user });
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
  const isUsable = Number.isInteger(last) && last >= 1024 && last <= 65_535 && (await isFree(last));
  return isUsable ? last : freePort();
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

async function logSize(log: string): Promise<number> {
  return stat(log).then(
    ({ size }) => size,
    () => 0,
  );
}

async function logSince(log: string, start: number): Promise<string> {
  const content = await readFile(log).catch(() => Buffer.alloc(0));
  return content.subarray(start).toString("utf8").trimEnd().split("\n").slice(-logLinesInError).join(" | ");
}

/** Beyond every system's highest process id. */
const impossiblePid = "99999999";
/** A younger file may belong to a start under way. */
const stalePidFileMs = 10_000;

/**
 * A crash leaves a pid file, and after a reboot its number may be that of any program of this user: the server
 * would refuse to start, as pg_ctl does on an empty file. Only the number is replaced: the shared memory key
 * stays, by which the server itself finds backends that are still alive. Written through the open file: a start
 * that came first has made a new one, which this never touches.
 */
async function disarmStalePidFile(folder: DataFolder): Promise<void> {
  if (process.platform !== "linux") return;
  const file = await open(join(folder.data, "postmaster.pid"), "r+").catch(() => undefined);
  if (!file) return;
  try {
    const { mtimeMs } = await file.stat();
    const text = await file.readFile("utf8");
    if (Date.now() - mtimeMs < stalePidFileMs || (await isPostmasterOf(folder, Number.parseInt(text, 10))))
      return;
    await file.truncate(0);
    await file.write(text.replace(/^\w*/, impossiblePid), 0);
  } finally {
    await file.close();
  }
}
