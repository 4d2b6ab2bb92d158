import { randomBytes } from "node:crypto";
import {
  appendFile,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  rmdir,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { TallymanError } from "../../errors/index.ts";
import { type Binaries, makeSystemFolder } from "./binaries.ts";
import { runProgram } from "./run-program.ts";
import { canReach, type ServerUser } from "./server-user.ts";

/** The superuser of every embedded server; not `tallyman`, whose unqualified tables would land in our schema. */
export const embeddedUser = "postgres";

const passwordName = "tallyman.password";
const temporaryPattern = /^\.data-(\d+)-/;

/**
 * The folder of one embedded database: `data` (the cluster, with its password), `server.log`, `port`.
 * `data` is made under a temporary name and renamed, so it is either whole or not there: many processes
 * may start at once and a crash half-way leaves only a temporary folder, which the next start sweeps.
 */
export interface DataFolder {
  readonly folder: string;
  readonly data: string;
  readonly log: string;
  readonly password: string;
}

/** Opens the folder, making it first when it does not exist or holds no database. */
export async function openDataFolder(
  path: string,
  binaries: Binaries,
  user: ServerUser | undefined,
): Promise<DataFolder> {
  const asked = resolve(path);
  try {
    const folder = await ensureFolder(asked, user);
    const data = join(folder, "data");
    if (!(await exists(data))) await create(folder, binaries, user);
    await refuseDamage(data, binaries);
    const password = await readFile(join(data, passwordName), "utf8");
    return { folder, data, log: join(folder, "server.log"), password };
  } catch (error) {
    throw explain(error, asked);
  }
}

/** The real folder: the one that was asked for, or one that the server's user can enter, behind a link. */
async function ensureFolder(asked: string, user: ServerUser | undefined): Promise<string> {
  if (!(await exists(asked))) await makeFolder(asked, user);
  const folder = await realpath(asked);
  if (user && (await readdir(folder)).length === 0) await chown(folder, user.uid, user.gid);
  return folder;
}

async function makeFolder(asked: string, user: ServerUser | undefined): Promise<void> {
  await mkdir(dirname(asked), { recursive: true });
  if (!user || (await canReach(dirname(asked), user))) {
    await mkdir(asked, { mode: 0o700 }).catch(unlessAnotherWasFirst);
    return;
  }
  const elsewhere = await mkdtemp(join(await makeSystemFolder(), "data-"));
  await symlink(elsewhere, asked).catch(async (error: NodeJS.ErrnoException) => {
    await rmdir(elsewhere);
    unlessAnotherWasFirst(error);
  });
}

async function create(folder: string, binaries: Binaries, user: ServerUser | undefined): Promise<void> {
  await sweep(folder);
  const temporary = join(folder, `.data-${process.pid}-${randomBytes(4).toString("hex")}`);
  try {
    await initialise(temporary, binaries, user);
    await rename(temporary, join(folder, "data")).catch(unlessAnotherWasFirst);
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/** Removes what starts that died half-way have left. */
async function sweep(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const pid = Number(temporaryPattern.exec(name)?.[1]);
    if (pid && !isRunning(pid)) await rm(join(folder, name), { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

async function initialise(data: string, binaries: Binaries, user: ServerUser | undefined): Promise<void> {
  await mkdir(data, { mode: 0o700 });
  const password = randomBytes(24).toString("base64url");
  const passwordFile = `${data}.password`;
  await writeFile(passwordFile, password, { mode: 0o600 });
  try {
    for (const path of user ? [data, passwordFile] : []) await chown(path, user?.uid ?? 0, user?.gid ?? 0);
    await runProgram(
      binaries.initdb,
      [
        ...["-D", data, "-U", embeddedUser, `--pwfile=${passwordFile}`],
        ...["-A", "scram-sha-256", "-E", "UTF8", "--no-locale"],
      ],
      { cwd: dirname(data), user },
    );
    await rename(passwordFile, join(data, passwordName));
    await appendFile(join(data, "postgresql.conf"), serverSettings);
  } finally {
    await rm(passwordFile, { force: true });
  }
}

/** TCP on loopback only: a Unix socket's path would be too long in deep folders. */
const serverSettings = `
# Written by Tallyman when the database was made; yours to change.
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 200
shared_buffers = 256MB
max_wal_size = 2GB
log_line_prefix = '%m [%p] %a '
`;

async function refuseDamage(data: string, binaries: Binaries): Promise<void> {
  const version = await readFile(join(data, "PG_VERSION"), "utf8").catch(missing);
  const parts = ["global/pg_control", "postgresql.conf", passwordName];
  const whole = await Promise.all(parts.map((part) => exists(join(data, part))));
  if (version === undefined || whole.includes(false)) {
    throw new TallymanError(
      "EMBEDDED_FOLDER_DAMAGED",
      `${data} is not a complete embedded database. Restore it from a backup, or move it away to start empty.`,
      { details: { folder: data } },
    );
  }
  if (Number.parseInt(version, 10) !== binaries.majorVersion) {
    throw new TallymanError(
      "EMBEDDED_VERSION_MISMATCH",
      `${data} was made by PostgreSQL ${version.trim()}, but the installed binaries are ${binaries.majorVersion}. Export it with the old version and import it, or choose another folder.`,
      { details: { folder: data, found: version.trim(), installed: binaries.majorVersion } },
    );
  }
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(missing)) !== undefined;
}

function missing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}

function unlessAnotherWasFirst(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
}

const unwritableCodes = new Set(["EACCES", "EPERM", "EROFS", "ENOTDIR"]);

function explain(error: unknown, folder: string): unknown {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === undefined || !unwritableCodes.has(code)) return error;
  return new TallymanError(
    "EMBEDDED_FOLDER_UNWRITABLE",
    `The folder of the embedded database, ${folder}, can't be used by this user (${code}). Give it write access, or choose another folder.`,
    { cause: error, details: { folder } },
  );
}
