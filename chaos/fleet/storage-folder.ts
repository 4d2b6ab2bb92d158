import { access, copyFile, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { SmallDisk } from "./small-disk.ts";

const sizeMegabytes = 2_048;

/** The storage of a chaos run. Knows the files that were taken away or damaged, and can bring them back. */
export class StorageFolder {
  readonly disk: SmallDisk;
  readonly #folder: string;
  /** Two that put the same file back at the same moment would be in each other's way. */
  #last: Promise<void> = Promise.resolve();

  private constructor(folder: string, disk: SmallDisk) {
    this.#folder = folder;
    this.disk = disk;
  }

  static async make(folder: string): Promise<StorageFolder> {
    return new StorageFolder(folder, await SmallDisk.make(join(folder, "storage"), sizeMegabytes));
  }

  /** Brings back the files that were taken away, but for those that were written again. */
  restoreHidden(): Promise<void> {
    return this.#alone(() => this.#restoreHidden());
  }

  /** Makes damaged files whole again. */
  repair(): Promise<void> {
    return this.#alone(() => this.#repair());
  }

  #alone(work: () => Promise<void>): Promise<void> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }

  async #restoreHidden(): Promise<void> {
    for (const key of await filesBelow(join(this.#folder, "hidden"))) {
      const hidden = join(this.#folder, "hidden", key);
      if (await exists(join(this.disk.path, key))) await rm(hidden);
      else await this.#putBack(hidden, key);
    }
  }

  async #repair(): Promise<void> {
    for (const key of await filesBelow(join(this.#folder, "originals")))
      await this.#putBack(join(this.#folder, "originals", key), key);
  }

  /** As a whole or not at all; a full disk leaves it for the next time. */
  async #putBack(copy: string, key: string): Promise<void> {
    const temporary = join(this.disk.path, `${key}.put-back`);
    try {
      await copyFile(copy, temporary);
      await rename(temporary, join(this.disk.path, key));
      await rm(copy);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
      await rm(temporary, { force: true });
    }
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
