import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type BatchFileName, batchKey, parseBatchKey } from "./batch-file.ts";
import { findLast, inTickOrder, listInTickOrder } from "./batch-listing.ts";
import type { StorageDriver } from "./storage-driver.ts";

const runId = "run-1";

/** A driver of names alone, which remembers the folders that it was asked for. */
function driverOf(keys: readonly string[]): { driver: StorageDriver; asked: string[] } {
  const folders = new Map<string, Set<string>>();
  for (const key of keys) {
    const parts = key.split("/");
    for (let depth = 1; depth < parts.length; depth++) {
      const folder = `${parts.slice(0, depth).join("/")}/`;
      folders.set(folder, (folders.get(folder) ?? new Set()).add(parts[depth] ?? ""));
    }
  }
  const asked: string[] = [];
  const listFolder = async (folder: string) => {
    asked.push(folder);
    return [...(folders.get(folder) ?? [])];
  };
  return { driver: { listFolder } as unknown as StorageDriver, asked };
}

function named([tickStart, tickEnd]: readonly [number, number]): BatchFileName {
  const batch = { runId, tickStart, tickEnd, codec: "none" } as const;
  return { ...batch, key: batchKey(batch) };
}

async function list(driver: StorageDriver, startTick: number, endTick: number, after?: BatchFileName) {
  const files: BatchFileName[] = [];
  for await (const group of listInTickOrder(driver, runId, { startTick, endTick, after }))
    files.push(...group);
  return files;
}

const tick = fc.oneof(fc.nat(1_000), fc.nat(400_000), fc.nat(500_000_000), fc.maxSafeNat());
const length = fc.oneof(fc.nat(10), fc.nat(300_000), fc.nat(400_000_000));
const range = fc
  .tuple(tick, length)
  .map(([start, ticks]) => [start, Math.min(start + ticks, Number.MAX_SAFE_INTEGER)] as const);

/** A range anywhere, or one that begins where some file ends: there a long batch is easily missed. */
const query = fc
  .tuple(range, fc.option(fc.nat(40)), fc.nat(2_000))
  .map(([[start, end], index, ticks]) => (files: readonly BatchFileName[]) => {
    const file = index === null ? undefined : files[index];
    return file
      ? { startTick: file.tickEnd, endTick: Math.min(file.tickEnd + ticks, Number.MAX_SAFE_INTEGER) }
      : { startTick: start, endTick: end };
  });

describe("listing", () => {
  it("finds what a search through all files would find, for any files, range and place", async () => {
    const given = fc.uniqueArray(range, { maxLength: 40, selector: String });
    await fc.assert(
      fc.asyncProperty(given, query, fc.option(fc.nat(50)), async (ranges, ask, place) => {
        const files = ranges.map(named).sort(inTickOrder);
        const { startTick, endTick } = ask(files);
        const after = place === null ? undefined : files[place];
        const { driver } = driverOf(files.map(({ key }) => key));
        const expected = files.filter(
          (file) =>
            file.tickStart <= endTick &&
            file.tickEnd >= startTick &&
            (after === undefined || inTickOrder(file, after) > 0),
        );
        expect(await list(driver, startTick, endTick, after)).toEqual(expected);
        const ends = files.map(({ tickEnd }) => tickEnd);
        expect((await findLast(driver, runId))?.tickEnd).toBe(
          ends.length > 0 ? Math.max(...ends) : undefined,
        );
      }),
      { numRuns: 500, seed: 20251006 },
    );
  });

  it("reads only the folders that can hold a file of the range", async () => {
    const files = Array.from({ length: 3_000 }, (_, index) =>
      named([index * 100_000, index * 100_000 + 999]),
    );
    const { driver, asked } = driverOf(files.map(({ key }) => key));
    expect(await list(driver, 150_000_000, 150_000_500)).toEqual([files[1_500]]);
    expect(asked.length).toBeLessThanOrEqual(8);
    asked.length = 0;
    expect((await list(driver, 0, Number.MAX_SAFE_INTEGER, files[2_990])).length).toBe(9);
    expect(asked.length).toBeLessThanOrEqual(16);
    asked.length = 0;
    expect(await findLast(driver, runId)).toEqual(files[2_999]);
    expect(asked.length).toBeLessThanOrEqual(8);
  });

  it("reads a folder when its turn comes, not before", async () => {
    const files = Array.from({ length: 1_000 }, (_, index) =>
      named([index * 100_000, index * 100_000 + 999]),
    );
    const { driver, asked } = driverOf(files.map(({ key }) => key));
    const everything = { startTick: 0, endTick: Number.MAX_SAFE_INTEGER, after: undefined };
    for await (const group of listInTickOrder(driver, runId, everything)) {
      expect(group).toEqual([files[0]]);
      break;
    }
    expect(asked.length).toBe(4);
  });

  it("passes over empty folders when it looks for the last file", async () => {
    const { driver } = driverOf([
      named([5, 9]).key,
      `${runId}/raw/00000000007/999/x`,
      `${runId}/raw/00000000009/y`,
    ]);
    expect(await findLast(driver, runId)).toMatchObject({ tickStart: 5 });
  });
});

describe("a batch file's key", () => {
  it.each([
    [[0, 999], "run-1/raw/00000000000/000/batch_0000000000000000000_0000000000000000999.pb"],
    [[100_000, 199_999], "run-1/raw/00000000000/001/batch_0000000000000100000_0000000000000199999.pb"],
    [[100_000, 200_000], "run-1/raw/00000000000/batch_0000000000000100000_0000000000000200000.pb"],
    [[0, 100_000_000], "run-1/raw/batch_0000000000000000000_0000000000100000000.pb"],
    [
      [1_234_567_890, 1_234_567_890],
      "run-1/raw/00000000012/345/batch_0000000001234567890_0000000001234567890.pb",
    ],
  ] as const)("of ticks %j lies as deep as its length allows", (ticks, key) => {
    expect(named(ticks).key).toBe(key);
  });

  it("says again what it was made of", () => {
    const codec = fc.constantFrom("none" as const, "gzip" as const, "brotli" as const);
    fc.assert(
      fc.property(range, codec, ([tickStart, tickEnd], name) => {
        const batch = { runId, tickStart, tickEnd, codec: name };
        const key = batchKey(batch);
        expect(parseBatchKey(key)).toEqual({ ...batch, key });
      }),
    );
  });

  it("may have ten digits, and nothing else that is different", () => {
    const names = ["x/batch_0000000000_0000000999.pb", "x/y/batch_0000000000_0000000999.pb.br"];
    expect(names.map((name) => parseBatchKey(name)?.tickEnd)).toEqual([999, 999]);
    const strays = [
      "batch_0000000000_0000000999.pb",
      "x/batch_0_999.pb",
      "x/batch_0000000000_0000000999.pb.zip",
    ];
    expect(strays.map(parseBatchKey)).toEqual([undefined, undefined, undefined]);
  });
});
