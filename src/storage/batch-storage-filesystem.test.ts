import { execFileSync } from "node:child_process";
import {
  type FileHandle,
  mkdir,
  mkdtemp,
  open as openFile,
  readdir,
  readFile,
  rm,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { MetadataInfoSchema } from "../contracts/index.ts";
import { type StorageConformanceContext, storageConformance } from "../testing/index.ts";
import { FileSystemStorage } from "./index.ts";

let folder: string;
let root: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tallyman-storage-"));
  root = join(folder, "storage");
});

afterEach(() => rm(folder, { recursive: true }));

function open(): FileSystemStorage {
  return new FileSystemStorage({ rootDirectory: root });
}

const context: StorageConformanceContext = {
  exclusiveCreate: true,
  open: (options = {}) => new FileSystemStorage({ rootDirectory: root, ...options }),
  async writeRaw(key, bytes) {
    await mkdir(dirname(join(root, key)), { recursive: true });
    await writeFile(join(root, key), bytes);
  },
  readRaw: (key) => readFile(join(root, key)),
  remove: (key) => rm(join(root, key)),
};

describe("FileSystemStorage conforms:", () => {
  for (const { name, run } of storageConformance) {
    it(name, async () => {
      await run(context);
      expect(await readdir(join(root, ".tmp")).catch(() => [])).toEqual([]);
    });
  }
});

describe("FileSystemStorage", () => {
  const records = [Buffer.from("a"), Buffer.from("b")];

  it("syncs the folder of a file that it finds: its writer may have died before", async () => {
    const { key } = await open().writeBatch("run-1", 0, 9, records);
    await using file = await openFile(join(root, key));
    const sync = vi.spyOn(Object.getPrototypeOf(file) as FileHandle, "sync");
    await open().writeBatch("run-1", 0, 9, records);
    expect(sync).toHaveBeenCalledTimes(1);
    sync.mockRestore();
  });

  it("refuses to read, write or list through a symbolic link", async () => {
    const outside = join(folder, "outside");
    const { key } = await open().writeBatch("run-1", 0, 9, records);
    await mkdir(outside);
    await symlink(outside, join(root, "linked"));
    await expect(open().writeBatch("linked", 0, 9, records)).rejects.toMatchObject({
      code: "STORAGE_KEY_INVALID",
    });
    expect(await readdir(outside)).toEqual([]);

    await mkdir(join(outside, "raw"));
    await writeFile(join(outside, "raw", "batch_0000000000_0000000009.pb"), "secret");
    await expect(open().listBatchFiles("linked", undefined, 10)).rejects.toMatchObject({
      code: "STORAGE_KEY_INVALID",
    });
    expect(await open().listRunIds()).toEqual(["run-1"]);
    const reads = [
      () => open().readBatch("linked/raw/batch_0000000000_0000000009.pb"),
      () => open().readMessage("linked/raw/secret.pb", MetadataInfoSchema),
    ];
    for (const read of reads) await expect(read()).rejects.toMatchObject({ code: "STORAGE_KEY_INVALID" });

    await rm(join(root, key));
    await symlink(join(outside, "raw", "batch_0000000000_0000000009.pb"), join(root, key));
    await expect(open().readBatch(key)).rejects.toMatchObject({ code: "STORAGE_KEY_INVALID" });
  });

  it("allows the root itself to be a symbolic link", async () => {
    await mkdir(join(folder, "elsewhere"));
    await symlink(join(folder, "elsewhere"), root);
    const { key } = await open().writeBatch("run-1", 0, 9, records);
    expect((await open().describeBatch(key)).records).toBe(2);
  });

  it("does not wait for a pipe, nor read a folder, under a file's name", async () => {
    const { key } = await open().writeBatch("run-1", 0, 9, records);
    await rm(join(root, key));
    execFileSync("mkfifo", [join(root, key)]);
    await expect(open().readBatch(key)).rejects.toMatchObject({ code: "STORAGE_FILE_NOT_FOUND" });
    await rm(join(root, key));
    await mkdir(join(root, key));
    await expect(open().readBatch(key)).rejects.toMatchObject({ code: "STORAGE_FILE_NOT_FOUND" });
  });

  it("sweeps temporary files that are old, and leaves a living writer's alone", async () => {
    await mkdir(join(root, ".tmp"), { recursive: true });
    await writeFile(join(root, ".tmp", "old"), "torn");
    await utimes(join(root, ".tmp", "old"), new Date(0), new Date(0));
    await writeFile(join(root, ".tmp", "young"), "being written");
    await open().writeBatch("run-1", 0, 9, records);
    expect(await readdir(join(root, ".tmp"))).toEqual(["young"]);
  });

  it("goes on reading the file that was opened when its name is taken over, and its records stay", async () => {
    const large = Array.from({ length: 40 }, (_, index) => Buffer.alloc(500_000, index));
    const storage = new FileSystemStorage({ rootDirectory: root, codec: "none" });
    const { key } = await storage.writeBatch("run-1", 0, 9, large);
    await using batch = await storage.openBatch(key);
    await rm(join(root, key));
    await writeFile(join(root, key), "other");
    const read: Uint8Array[] = [];
    for await (const { bytes } of batch.records()) read.push(bytes);
    expect(read.map((bytes) => [bytes[0], bytes.at(-1)])).toEqual(large.map((_, index) => [index, index]));
  });

  it("refuses to load a batch that is too large, and streams it", async () => {
    const storage = new FileSystemStorage({ rootDirectory: root, readBytesMax: 1_000 });
    const { key } = await storage.writeBatch("run-1", 0, 9, [Buffer.alloc(2_000)]);
    await expect(storage.readBatch(key)).rejects.toMatchObject({ code: "STORAGE_FILE_TOO_LARGE" });
    await using batch = await storage.openBatch(key);
    expect(batch.file.rawBytes).toBe(2_002);
  });

  it("tells missing rights from a missing file, and is unhealthy until it works again", async () => {
    await mkdir(root);
    await writeFile(join(root, "run-1"), "a file where a folder belongs");
    const storage = open();
    await expect(storage.writeBatch("run-1", 0, 9, records)).rejects.toMatchObject({
      code: "STORAGE_UNAVAILABLE",
    });
    expect(storage.isHealthy()).toBe(false);
    expect(storage.getErrors()[0]?.code).toBe("WRITE_BATCH_FAILED");
    await storage.writeBatch("run-2", 0, 9, records);
    expect(storage.isHealthy()).toBe(true);
  });

  it("writes nothing of a run whose id can't be part of a key", async () => {
    await using storage = open();
    for (const runId of ["aux", "con", "COM1"])
      await expect(storage.writeBatch(runId, 0, 9, records)).rejects.toMatchObject({
        code: "STORAGE_KEY_INVALID",
      });
    expect(await storage.listRunIds()).toEqual([]);
  });

  it("checks its options", () => {
    const wrong = [{ codec: "zip" }, { rootDirectory: "" }, { temporaryMaxAgeMs: 0 }, { rootDirectry: "x" }];
    for (const options of wrong)
      expect(() => new FileSystemStorage(options as object)).toThrowError(
        /rootDirectory|codec|temporaryMaxAgeMs/,
      );
  });
});
