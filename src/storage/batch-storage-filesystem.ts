import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import {
  type FileHandle,
  link,
  lstat,
  mkdir,
  open,
  readdir,
  realpath,
  rename,
  rm,
  stat,
} from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { TallymanError } from "../errors/index.ts";
import { crashPoint, type GivenOptions, logger, resolveOptions } from "../runtime/index.ts";
import { BatchStorage, type BatchStorageOptions, batchStorageDefaults } from "./batch-storage.ts";
import type { PutMode, RunFolder, StorageDriver, StoredBytes } from "./storage-driver.ts";
import { fileSystemError, notFound, systemCode } from "./storage-error.ts";
import { isRunId } from "./storage-key.ts";

const log = logger("storage.filesystem");

/** Settings of a storage in a folder. */
export interface FileSystemStorageOptions extends BatchStorageOptions {
  /** The folder that holds everything; made when it is first written to. Default `.tallyman/storage`. */
  readonly rootDirectory: string;
  /** Temporary files older than this were left by a crash and are removed. Default one hour. */
  readonly temporaryMaxAgeMs: number;
}

const temporaryFolder = ".tmp";
const readChunkBytes = 256 * 1024;
const hourMs = 3_600_000;
/** No link is followed, and a pipe under a file's name does not wait for a writer. */
const readFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
/** File systems that have no hard links say one of these. */
const noLinkCodes = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"]);

/**
 * Batch files in a folder, local or shared. A file is written under a temporary name, synced, linked to
 * its own name, and its folder synced: after a crash it is there as a whole, or not at all. Needs a file
 * system on which link or rename is atomic, as all local ones and NFS are.
 *
 * @example
 * ```ts
 * const storage = new FileSystemStorage({ rootDirectory: "/var/lib/tallyman" });
 * ```
 */
export class FileSystemStorage extends BatchStorage {
  /** @throws TallymanError INVALID_OPTION */
  constructor(options: GivenOptions<FileSystemStorageOptions> = {}) {
    const { rootDirectory, temporaryMaxAgeMs, ...common } = resolveOptions<FileSystemStorageOptions>(
      { ...batchStorageDefaults, rootDirectory: ".tallyman/storage", temporaryMaxAgeMs: hourMs },
      options,
      { rootDirectory: (folder) => (folder === "" ? "a folder" : undefined) },
    );
    super(new FileSystemDriver(resolve(rootDirectory), temporaryMaxAgeMs), common);
  }
}

class FileSystemDriver implements StorageDriver {
  readonly place: string;
  readonly #temporaryMaxAgeMs: number;
  #root: Promise<string> | undefined;
  #sweepAtMs = 0;

  constructor(rootDirectory: string, temporaryMaxAgeMs: number) {
    this.place = rootDirectory;
    this.#temporaryMaxAgeMs = temporaryMaxAgeMs;
  }

  async put(key: string, chunks: AsyncIterable<Uint8Array>, mode: PutMode): Promise<"written" | "exists"> {
    const temporary = join(this.place, temporaryFolder, randomUUID());
    try {
      await mkdir(dirname(temporary), { recursive: true });
      await this.#sweep();
      await writeSynced(temporary, chunks);
      crashPoint("storage.temporary-synced");
      return await this.#publish(temporary, key, mode);
    } catch (error) {
      throw fileSystemError(error, "write", key);
    } finally {
      await rm(temporary, { force: true }).catch(() => undefined);
    }
  }

  async open(key: string): Promise<StoredBytes> {
    try {
      const path = await this.#pathOf(key);
      const file = await open(path, readFlags);
      return await storedFile(file, key).catch(async (error: unknown) => {
        await file.close();
        throw error;
      });
    } catch (error) {
      if (systemCode(error) === "ELOOP") throw symlinkRefused(key);
      throw fileSystemError(error, "read", key);
    }
  }

  async firstExisting(keys: readonly string[]): Promise<string | undefined> {
    for (const key of keys) {
      const path = join(this.place, key);
      if (!(await lstat(path).catch(() => undefined))) continue;
      // Who wrote it may have died before it was recorded durably.
      await syncFolder(dirname(path)).catch((error: unknown) => {
        throw fileSystemError(error, "write", key);
      });
      return key;
    }
    return undefined;
  }

  async listFolder(folder: string): Promise<readonly string[]> {
    try {
      return await readdir(await this.#realFolder(folder));
    } catch (error) {
      if (systemCode(error) === "ENOENT") return [];
      throw fileSystemError(error, "list", folder);
    }
  }

  async listRuns(): Promise<RunFolder[]> {
    const entries = await readdir(this.place, { withFileTypes: true }).catch((error: unknown) => {
      if (systemCode(error) === "ENOENT") return [];
      throw fileSystemError(error, "list", this.place);
    });
    const runIds = entries
      .filter((entry) => entry.isDirectory() && isRunId(entry.name))
      .map(({ name }) => name);
    return Promise.all(
      runIds.map(async (runId) => ({ runId, firstWrittenAtMs: await this.#bornAtMs(runId) })),
    );
  }

  async close(): Promise<void> {}

  /**
   * Makes the temporary file visible under its key. A hard link fails when the name is taken, which
   * rename does not; where there are no links, two writers of one key at one moment both succeed and
   * the later file stays.
   */
  async #publish(temporary: string, key: string, mode: PutMode): Promise<"written" | "exists"> {
    const path = await this.#makeFolderOf(key);
    const isTaken = mode === "create" && !(await linkOrRename(temporary, path));
    if (mode === "replace") await rename(temporary, path);
    crashPoint("storage.linked");
    await syncFolder(dirname(path));
    return isTaken ? "exists" : "written";
  }

  /**
   * Makes the key's folders where they are missing, one by one: making them in one call would follow a
   * symbolic link and make folders behind it. Each is recorded durably in its parent.
   */
  async #makeFolderOf(key: string): Promise<string> {
    await mkdir(this.place, { recursive: true });
    const folders = dirname(key).split("/");
    for (const [depth] of folders.entries()) {
      const path = join(this.place, ...folders.slice(0, depth + 1));
      if (await isFolder(path, key)) continue;
      await mkdir(path).catch((error: unknown) => {
        if (systemCode(error) !== "EEXIST") throw error;
      });
      await syncFolder(dirname(path));
    }
    return this.#pathOf(key);
  }

  async #pathOf(key: string): Promise<string> {
    return join(await this.#realFolder(dirname(key)), basename(key));
  }

  /**
   * A folder's path, with the proof that nothing on the way to it is a symbolic link. The root itself
   * may be one: it is the operator's choice.
   */
  async #realFolder(folder: string): Promise<string> {
    this.#root ??= realpath(this.place);
    const root = await this.#root.catch((error: unknown) => {
      this.#root = undefined;
      throw error;
    });
    const path = resolve(root, folder);
    if ((await realpath(path)) !== path) throw symlinkRefused(folder);
    return path;
  }

  async #bornAtMs(runId: string): Promise<number> {
    const { birthtimeMs, ctimeMs, mtimeMs } = await stat(join(this.place, runId));
    return Math.min(...[birthtimeMs, ctimeMs, mtimeMs].filter((ms) => ms > 0));
  }

  /** Removes what crashed writers left behind; looked for at the first write and then once per hour. */
  async #sweep(): Promise<void> {
    if (Date.now() < this.#sweepAtMs) return;
    this.#sweepAtMs = Date.now() + hourMs;
    const folder = join(this.place, temporaryFolder);
    for (const name of await readdir(folder)) {
      const path = join(folder, name);
      const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }));
      if (mtimeMs > Date.now() - this.#temporaryMaxAgeMs) continue;
      await rm(path, { force: true });
      log.debug("Removed a temporary file left by a crash", { path });
    }
  }
}

async function writeSynced(path: string, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  const file = await open(path, "wx");
  try {
    for await (const chunk of chunks) await writeAll(file, chunk);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function writeAll(file: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let written = 0; written < chunk.length; )
    written += (await file.write(chunk, written, chunk.length - written)).bytesWritten;
}

/** @returns false when the name is taken */
async function linkOrRename(temporary: string, path: string): Promise<boolean> {
  try {
    await link(temporary, path);
  } catch (error) {
    const code = systemCode(error) ?? "";
    if (code === "EEXIST") return false;
    if (!noLinkCodes.has(code)) throw error;
    await rename(temporary, path);
  }
  return true;
}

/** Windows can't open a folder to sync it, and records names durably by itself. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** @throws TallymanError STORAGE_KEY_INVALID for a symbolic link */
async function isFolder(path: string, key: string): Promise<boolean> {
  const found = await lstat(path).catch(() => undefined);
  if (found?.isSymbolicLink()) throw symlinkRefused(key);
  return found?.isDirectory() ?? false;
}

/** Streams from one open file: a name that is replaced meanwhile does not change what is read. */
async function storedFile(file: FileHandle, key: string): Promise<StoredBytes> {
  const found = await file.stat();
  if (!found.isFile()) throw notFound(key);
  const { size, mtimeMs } = found;
  const read = (chunk: Buffer, position: number) =>
    file.read(chunk, 0, chunk.length, position).catch((error: unknown) => {
      throw fileSystemError(error, "read", key);
    });
  let closed: Promise<void> | undefined;
  return {
    size,
    writtenAtMs: Math.floor(mtimeMs),
    async *stream(from = 0) {
      const chunk = Buffer.allocUnsafe(Math.min(readChunkBytes, Math.max(1, size - from)));
      for (let position = from; ; ) {
        const { bytesRead } = await read(chunk, position);
        if (bytesRead === 0) return;
        yield chunk.subarray(0, bytesRead);
        position += bytesRead;
      }
    },
    close() {
      closed ??= file.close();
      return closed;
    },
  };
}

function symlinkRefused(key: string): TallymanError {
  return new TallymanError(
    "STORAGE_KEY_INVALID",
    `${key} lies behind a symbolic link, which may lead out of the storage. Put the real folder in its place.`,
    { details: { key } },
  );
}
