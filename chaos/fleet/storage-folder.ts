import { execFileSync } from "node:child_process";
import { access, copyFile, cp, mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";

const sizeMegabytes = 256;
const ballastChunk = Buffer.alloc(1024 * 1024);

/**
 * The storage of a chaos run: on a small disk of its own where that is possible, so that it can be full. Knows
 * the files that were taken away or damaged, and can bring them back.
 */
export class StorageFolder {
  readonly path: string;
  /** Why it can't be filled up; undefined when it can. */
  readonly unfillable: string | undefined;
  readonly #folder: string;

  private constructor(folder: string, unfillable: string | undefined) {
    this.#folder = folder;
    this.path = join(folder, "storage");
    this.unfillable = unfillable;
  }

  static async make(folder: string): Promise<StorageFolder> {
    const path = join(folder, "storage");
    await mkdir(path);
    return new StorageFolder(folder, mountSmallDisk(path));
  }

  get #ballast(): string {
    return join(this.path, "ballast");
  }

  /** Leaves no room on the disk. */
  async fill(): Promise<void> {
    await using file = await open(this.#ballast, "a");
    try {
      for (let chunk = 0; chunk <= sizeMegabytes; chunk++) await file.write(ballastChunk);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
    }
  }

  /** Makes room again. */
  async empty(): Promise<void> {
    await rm(this.#ballast, { force: true });
  }

  /** Brings back the files that were taken away, but for those that were written again. */
  async restoreHidden(): Promise<void> {
    for (const key of await filesBelow(join(this.#folder, "hidden"))) {
      const hidden = join(this.#folder, "hidden", key);
      if (await exists(join(this.path, key))) await rm(hidden);
      else await this.#putBack(hidden, key);
    }
  }

  /** Makes damaged files whole again. */
  async repair(): Promise<void> {
    for (const key of await filesBelow(join(this.#folder, "originals")))
      await this.#putBack(join(this.#folder, "originals", key), key);
  }

  /** As a whole or not at all; a full disk leaves it for the next time. */
  async #putBack(copy: string, key: string): Promise<void> {
    const temporary = join(this.path, `${key}.put-back`);
    try {
      await copyFile(copy, temporary);
      await rename(temporary, join(this.path, key));
      await rm(copy);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
      await rm(temporary, { force: true });
    }
  }

  /** Gives the small disk back; what is on it stays in the folder when it is to be kept. */
  async close({ keep }: { keep: boolean }): Promise<void> {
    if (this.unfillable !== undefined) return;
    const kept = `${this.path}.kept`;
    if (keep) await cp(this.path, kept, { recursive: true });
    execFileSync("umount", [this.path]);
    if (keep)
      await rename(kept, this.path).catch(() =>
        rm(this.path, { recursive: true }).then(() => rename(kept, this.path)),
      );
  }
}

/** Why it could not be done; undefined when it was. */
function mountSmallDisk(path: string): string | undefined {
  if (process.platform !== "linux") return "small disks (tmpfs) are made on Linux only";
  if (process.getuid?.() !== 0) return "only root may mount a small disk";
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${sizeMegabytes}m`, "tmpfs", path], { stdio: "pipe" });
    return undefined;
  } catch (error) {
    return `mounting a small disk failed: ${String(error).split("\n")[0]}`;
  }
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
