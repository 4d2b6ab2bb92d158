import { execFileSync } from "node:child_process";
import { cp, mkdir, rename, rmdir, statfs } from "node:fs/promises";

const fillAttemptsMax = 20;

/** A folder on a disk of its own, where that is possible, so that it can be full. */
export class SmallDisk {
  readonly path: string;
  /** Why it can't be full; undefined when it can. */
  readonly unfillable: string | undefined;
  readonly #megabytes: number;

  private constructor(path: string, megabytes: number) {
    this.path = path;
    this.#megabytes = megabytes;
    this.unfillable = mount(path, `size=${megabytes}m`);
  }

  /** Makes the folder and its disk. */
  static async make(path: string, megabytes: number): Promise<SmallDisk> {
    await mkdir(path);
    return new SmallDisk(path, megabytes);
  }

  /** Leaves no room: the disk becomes as small as what is on it, which may grow while this is done. */
  async fill(): Promise<boolean> {
    for (let attempt = 0; attempt < fillAttemptsMax; attempt++) {
      const { blocks, bfree, bsize } = await statfs(this.path);
      if (mount(this.path, `remount,size=${(blocks - bfree) * bsize}`) === undefined) return true;
    }
    return false;
  }

  /** Makes room again. */
  empty(): void {
    if (this.unfillable === undefined) mount(this.path, `remount,size=${this.#megabytes}m`);
  }

  /** Gives the disk back; what is on it stays in the folder when it is to be kept. */
  async close({ keep }: { keep: boolean }): Promise<void> {
    if (this.unfillable !== undefined) return;
    const kept = `${this.path}.kept`;
    if (keep) await cp(this.path, kept, { recursive: true });
    execFileSync("umount", ["-l", this.path]);
    if (!keep) return;
    await rmdir(this.path);
    await rename(kept, this.path);
  }
}

/** Why it could not be done; undefined when it was. */
function mount(path: string, options: string): string | undefined {
  if (process.platform !== "linux") return "small disks (tmpfs) are made on Linux only";
  if (process.getuid?.() !== 0) return "only root may mount a small disk";
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", path], { stdio: "pipe" });
    return undefined;
  } catch (error) {
    return `mounting a small disk failed: ${String(error).split("\n")[0]}`;
  }
}
