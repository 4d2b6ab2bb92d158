import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SimulationMetadataSchema } from "../contracts/index.ts";
import { inspectRun, metadataKey, openStorage, S3Storage } from "./index.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tallyman-storage-"));
});

afterEach(() => rm(folder, { recursive: true }));

function open() {
  return openStorage({ className: "FileSystemStorage", options: { codec: "none" } }, folder);
}

describe("inspectRun", () => {
  it("counts files and finds the ticks that none covers", async () => {
    const storage = open();
    for (const [first, last] of [
      [10, 19],
      [20, 29],
      [15, 60],
      [61, 61],
      [80, 89],
    ] as const)
      await storage.writeBatch("run-1", first, last, [Buffer.from("x")]);
    const contents = await inspectRun(storage, "run-1");
    expect(contents).toMatchObject({
      files: 5,
      records: 5,
      samplingInterval: 1,
      holesTotal: 1,
      unreadableTotal: 0,
    });
    expect(contents.ticks).toEqual({ tickStart: 10, tickEnd: 89 });
    expect(contents.holes).toEqual([{ tickStart: 62, tickEnd: 79 }]);
    const sizes = contents.fileList.map(({ bytes }) => bytes);
    expect(contents.bytes).toBe(sizes.reduce((sum, bytes) => sum + bytes));
  });

  it("takes the sampling interval from the metadata, unless one is given", async () => {
    const storage = open();
    const metadata = create(SimulationMetadataSchema, { simulationRunId: "run-1", samplingInterval: 10 });
    await storage.writeMessage(metadataKey("run-1"), SimulationMetadataSchema, metadata);
    for (const first of [0, 100, 300]) await storage.writeBatch("run-1", first, first + 90, []);
    expect((await inspectRun(storage, "run-1")).holes).toEqual([{ tickStart: 200, tickEnd: 290 }]);
    const finer = await inspectRun(storage, "run-1", { samplingInterval: 1 });
    expect(finer.holes[0]).toEqual({ tickStart: 91, tickEnd: 99 });
  });

  it("finds damage inside a file only when it reads the file", async () => {
    const storage = open();
    const { key } = await storage.writeBatch("run-1", 0, 9, [Buffer.alloc(1_000, 7)]);
    const path = join(folder, ".tallyman/storage", key);
    const whole = await readFile(path);
    whole[80] = (whole[80] ?? 0) ^ 1;
    await writeFile(path, whole);
    expect((await inspectRun(storage, "run-1")).unreadableTotal).toBe(0);
    expect((await inspectRun(storage, "run-1", { verify: true })).unreadable).toMatchObject([{ key }]);
  });

  it("has nothing to say of a run without files", async () => {
    expect(await inspectRun(open(), "run-1")).toMatchObject({ files: 0, ticks: undefined, holes: [] });
  });
});

describe("openStorage", () => {
  it("begins a relative root at the folder that it is given", () => {
    const at = (options: object) =>
      openStorage({ className: "FileSystemStorage", options: { ...options } }, folder);
    expect(at({}).place).toBe(join(folder, ".tallyman/storage"));
    expect(at({ rootDirectory: "ticks" }).place).toBe(join(folder, "ticks"));
    expect(at({ rootDirectory: "/data" }).place).toBe("/data");
  });

  it("opens a bucket, and refuses what it does not know", async () => {
    await using storage = openStorage({ className: "S3Storage", options: { bucket: "b", keyPrefix: "p/" } });
    expect(storage).toBeInstanceOf(S3Storage);
    expect(storage.place).toBe("s3://b/p/");
    expect(() => openStorage({ className: "S3Storag", options: {} })).toThrowError(/S3Storage/);
    expect(() => openStorage({ className: "FileSystemStorage", options: { root: "x" } })).toThrowError(
      /root/,
    );
  });
});
