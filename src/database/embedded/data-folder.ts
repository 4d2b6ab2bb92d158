import { createHash, randomBytes } from "node:crypto";
import {
  appendFile,
  chown,
  mkdir,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { TallymanError } from "../../errors/index.ts";
import { type Binaries, systemFolder } from "./binaries.ts";
import { runProgram } from "./run-program.ts";
import { canReach, type ServerUser } from "./server-user.ts";

/** The superuser of every embedded server; not `tallyman`, whose unqualified tables would land in our schema. */
export const embeddedUser = "postgres";

/**
 * The folder of one embedded database: `data` (the cluster), `password` and `server.log`.
 * It is made under a temporary name and renamed, so it is either whole or not there: ten processes
 * may start at once and a crash half-way leaves only a temporary folder behind.
 */
export interface DataFolder {
  readonly folder: string;
  readonly data: string;
  readonly log: string;
  readonly password: string;
}

/** Opens the folder, making it first when it does not exist or is empty. */
export async function openDataFolder(
  path: string,
  binaries: Binaries,
  user: ServerUser | undefined,
): Promise<DataFolder> {
  const asked = resolve(path);
  try {
    if (await isMissingOrEmpty(asked)) await create(asked, binaries, user);
    const folder = await realpath(asked);
    await refuseDamage(folder, binaries);
    const password = await readFile(join(folder, "password"), "utf8");
    return { folder, data: join(folder, "data"), log: join(folder, "server.log"), password };
  } catch (error) {
    throw explain(error, asked);
  }
}

async function isMissingOrEmpty(folder: string): Promise<boolean> {
  const entries = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  return entries.length === 0;
}

async function create(folder: string, binaries: Binaries, user: ServerUser | undefined): Promise<void> {
  await mkdir(dirname(folder), { recursive: true });
  const target = await reachableTarget(folder, user);
  const temporary = join(
    dirname(target),
    `.${basename(target)}-${process.pid}-${randomBytes(4).toString("hex")}`,
  );
  try {
    await initialise(temporary, binaries, user);
    await rename(temporary, target).catch(unlessAnotherWasFirst);
    if (target !== folder) await symlink(target, folder).catch(unlessAnotherWasFirst);
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/** Root's server runs as another user, who may not be able to enter the place that was asked for. */
async function reachableTarget(folder: string, user: ServerUser | undefined): Promise<string> {
  if (!user || (await canReach(dirname(folder), user))) return folder;
  await mkdir(systemFolder, { recursive: true, mode: 0o755 });
  return join(systemFolder, `data-${createHash("sha256").update(folder).digest("hex").slice(0, 16)}`);
}

async function initialise(folder: string, binaries: Binaries, user: ServerUser | undefined): Promise<void> {
  await mkdir(folder, { mode: 0o700 });
  const passwordFile = join(folder, "password");
  await writeFile(passwordFile, randomBytes(24).toString("base64url"), { mode: 0o600 });
  if (user) {
    await chown(folder, user.uid, user.gid);
    await chown(passwordFile, user.uid, user.gid);
  }
  const data = join(folder, "data");
  await runProgram(
    binaries.initdb,
    [
      "-D",
      data,
      "-U",
      embeddedUser,
      `--pwfile=${passwordFile}`,
      "-A",
      "scram-sha-256",
      "-E",
      "UTF8",
      "--no-locale",
    ],
    { cwd: folder, user },
  );
  await appendFile(join(data, "postgresql.conf"), serverSettings);
}

/** TCP on loopback only: a Unix socket's path would be too long in deep folders. */
const serverSettings = `
# Written by Tallyman when the database was made; yours to change.
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 200
shared_buffers = 256MB
wal_level = replica
max_wal_size = 2GB
log_line_prefix = '%m [%p] %a '
`;

async function refuseDamage(folder: string, binaries: Binaries): Promise<void> {
  const data = join(folder, "data");
  const version = await readFile(join(data, "PG_VERSION"), "utf8").catch(missing);
  const whole = await Promise.all(
    [join(data, "global", "pg_control"), join(data, "postgresql.conf"), join(folder, "password")].map(
      (path) => stat(path).catch(missing),
    ),
  );
  if (version === undefined || whole.includes(undefined)) {
    throw new TallymanError(
      "EMBEDDED_FOLDER_DAMAGED",
      `${folder} is not a complete embedded database. Restore it from a backup, or move it away to start empty.`,
      { details: { folder } },
    );
  }
  if (Number.parseInt(version, 10) !== binaries.majorVersion) {
    throw new TallymanError(
      "EMBEDDED_VERSION_MISMATCH",
      `${folder} was made by PostgreSQL ${version.trim()}, but the installed binaries are ${binaries.majorVersion}. Export it with the old version and import it, or choose another folder.`,
      { details: { folder, found: version.trim(), installed: binaries.majorVersion } },
    );
  }
}

function missing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT" && error.code !== "ENOTDIR") throw error;
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
