import { spawnSync } from "node:child_process";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { FileSystemStorage } from "../src/storage/index.ts";
import { setup, type TestContext } from "../src/testing/index.ts";
import { startChild } from "./kit/children.ts";

const writeScript = new URL("./children/storage-write.child.ts", import.meta.url);
const memoryScript = new URL("./children/storage-memory.child.ts", import.meta.url);

/** STORAGE_KILLS and STORAGE_MEMORY_MB make these tests as large as one likes. */
const kills = Number(process.env.STORAGE_KILLS ?? 6);
const memoryMb = Number(process.env.STORAGE_MEMORY_MB ?? 128);
const memoryGrowthMb = Math.min(200, memoryMb / 2);

async function keysIn(storage: FileSystemStorage): Promise<string[]> {
  return (await storage.listBatchFiles("run-1", undefined, 10_000)).files.map(({ key }) => key);
}

async function temporaryFiles(root: string): Promise<string[]> {
  return readdir(join(root, ".tmp")).catch(() => []);
}

/** What a child would have written, written again by a process that lives; young leftovers count as old. */
async function writeAgain(root: string): Promise<{ storage: FileSystemStorage; key: string }> {
  const storage = new FileSystemStorage({ rootDirectory: root, codec: "none", temporaryMaxAgeMs: 1 });
  const records = Array.from({ length: 10 }, (_, index) => Buffer.alloc(2_000, `tick ${index} `));
  const { key } = await storage.writeBatch("run-1", 0, 9, records);
  return { storage, key };
}

async function storageFolder(t: TestContext): Promise<string> {
  return join(await t.temporaryFolder(), "storage");
}

describe("a batch file's writer", () => {
  it("that dies before the file has its name leaves nothing but a temporary file, which is swept", async () => {
    await using t = await setup();
    const root = await storageFolder(t);
    await using child = startChild(writeScript, { args: [root], crashAt: "storage.temporary-synced" });
    expect(await child.exit).toMatchObject({ signal: "SIGKILL" });
    expect(await keysIn(new FileSystemStorage({ rootDirectory: root }))).toEqual([]);
    expect(await temporaryFiles(root)).toHaveLength(1);

    const { storage, key } = await writeAgain(root);
    expect(await keysIn(storage)).toEqual([key]);
    expect(await temporaryFiles(root)).toEqual([]);
  });

  it("that dies after the file has its name leaves the whole file, and writing it again is harmless", async () => {
    await using t = await setup();
    const root = await storageFolder(t);
    await using child = startChild(writeScript, { args: [root], crashAt: "storage.linked" });
    expect(await child.exit).toMatchObject({ signal: "SIGKILL" });
    const storage = new FileSystemStorage({ rootDirectory: root });
    const [found = ""] = await keysIn(storage);
    await using batch = await storage.openBatch(found);
    expect(batch.file.records).toBe(10);

    const again = await writeAgain(root);
    expect(again.key).toBe(found);
    expect(await keysIn(storage)).toEqual([found]);
  });

  it(`killed ${kills} times at any moment loses no file that it reported, and leaves no torn one`, async () => {
    await using t = await setup();
    const root = await storageFolder(t);
    const reported = new Set<string>();
    for (let kill = 0; kill < kills; kill++) {
      const first = reported.size * 10;
      await using child = startChild(writeScript, { args: [root, String(first)] });
      await child.line(`wrote ${first + kill * 30}`);
      child.kill("SIGKILL");
      await child.exit;
      for (const line of child.lines) reported.add(line.split(" ")[2] ?? "");
    }
    const storage = new FileSystemStorage({ rootDirectory: root });
    const keys = await keysIn(storage);
    expect([...reported].filter((key) => !keys.includes(key))).toEqual([]);
    for (const key of keys) {
      await using batch = await storage.openBatch(key);
      expect(batch.file.records).toBe(10);
    }
  });

  it("that runs out of room says so, and nothing of the file is visible", async () => {
    await using t = await setup();
    const root = await storageFolder(t);
    // No disk is full at the test's command, but a process may be forbidden files of more than 100 KB.
    const command = `ulimit -f 100; exec "$0" --import tsx "$@"`;
    const args = [process.execPath, fileURLToPath(writeScript), root, "0", "1", "500000"];
    const { stdout } = spawnSync("bash", ["-c", command, ...args], { encoding: "utf8" });
    expect(stdout).toBe("failed STORAGE_FULL\n");
    expect(await keysIn(new FileSystemStorage({ rootDirectory: root }))).toEqual([]);
    expect(await temporaryFiles(root)).toEqual([]);
  });
});

describe("memory", () => {
  it(`grows by less than ${memoryGrowthMb} MB for a file of ${memoryMb} MB, written and read`, {
    timeout: 600_000,
  }, async () => {
    await using t = await setup();
    const root = await storageFolder(t);
    await using child = startChild(memoryScript, { args: [root, String(memoryMb)] });
    expect(await child.exit).toEqual({ code: 0, signal: null });
    const [stored = "", peak = ""] = child.lines;
    expect(Number(stored.split(" ")[1])).toBeGreaterThan(memoryMb * 1e6);
    expect(Number(peak.split(" ")[1])).toBeLessThan(memoryGrowthMb);
    await rm(root, { recursive: true });
  });
});
