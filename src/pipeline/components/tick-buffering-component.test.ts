import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FileChunk, IndexedFile } from "../indexer/indexed-file.ts";
import { TickBufferingComponent } from "./tick-buffering-component.ts";

function file(name: string): IndexedFile {
  return {
    filename: name,
    storageKey: `run/${name}`,
    tickStart: 0,
    tickEnd: 9,
    claimVersion: 1,
    resumeAt: 0,
    message: undefined,
  };
}

function chunk(
  of: IndexedFile,
  records: number[],
  options: Partial<FileChunk<number>> = {},
): FileChunk<number> {
  return { file: of, from: 0, records, bytes: records.length * 10, isLast: true, ...options };
}

const range = (start: number, count: number) => Array.from({ length: count }, (_, index) => start + index);
const options = { insertBatchSize: 250, flushTimeoutMs: 5_000, bufferBytesMax: 1_000_000 };

function open(given: Partial<typeof options> = {}) {
  let nowMs = 0;
  const buffer = new TickBufferingComponent<number>({ ...options, ...given, nowMs: () => nowMs });
  return {
    buffer,
    pass: (ms: number) => {
      nowMs += ms;
    },
  };
}

describe("TickBufferingComponent", () => {
  it("flushes by size, across files, completing those whose ticks are all in", () => {
    const { buffer } = open();
    const files = ["a", "b", "c"].map(file);
    for (const [index, each] of files.entries()) buffer.add(chunk(each, range(index * 100, 100)));
    expect(buffer.shouldFlush()).toBe(true);
    const flush = buffer.nextFlush();
    expect(flush.ticks).toEqual(range(0, 250));
    expect(
      flush.steps.map(({ file: of, from, to, completes }) => [of.filename, from, to, completes]),
    ).toEqual([
      ["a", 0, 100, true],
      ["b", 0, 100, true],
      ["c", 0, 50, false],
    ]);
    expect(buffer.getBufferSize()).toBe(300);
    buffer.remove(flush);
    expect(buffer.getBufferSize()).toBe(50);
    expect(buffer.getClaimedBatchCount()).toBe(1);
    expect(buffer.nextFlush().steps[0]).toMatchObject({ from: 50, to: 100, completes: true });
  });

  it("flushes by time: when the oldest tick has waited, not the newest", () => {
    const { buffer, pass } = open();
    expect(buffer.msUntilFlush()).toBe(Number.POSITIVE_INFINITY);
    buffer.add(chunk(file("a"), [1]));
    pass(4_000);
    buffer.add(chunk(file("b"), [2]));
    expect(buffer.msUntilFlush()).toBe(1_000);
    expect(buffer.shouldFlush()).toBe(false);
    pass(1_000);
    expect(buffer.shouldFlush()).toBe(true);
  });

  it("flushes by bytes, however few the ticks", () => {
    const { buffer } = open({ bufferBytesMax: 100 });
    buffer.add(chunk(file("a"), [1], { bytes: 100 }));
    expect(buffer.shouldFlush()).toBe(true);
  });

  it("has nothing to flush when it is empty, and completes an empty file", () => {
    const { buffer } = open({ flushTimeoutMs: 0 });
    expect(buffer.shouldFlush()).toBe(false);
    expect(buffer.nextFlush()).toEqual({ ticks: [], steps: [] });
    buffer.add(chunk(file("a"), []));
    expect(buffer.shouldFlush()).toBe(true);
    const flush = buffer.nextFlush();
    expect(flush.steps).toMatchObject([{ from: 0, to: 0, completes: true }]);
    buffer.remove(flush);
    expect(buffer.isEmpty()).toBe(true);
  });

  it("forgets a file that is no longer ours", () => {
    const { buffer } = open();
    buffer.add(chunk(file("a"), [1, 2]));
    buffer.add(chunk(file("b"), [3]));
    buffer.drop("a");
    expect(buffer.nextFlush().ticks).toEqual([3]);
    expect(buffer.getBufferSize()).toBe(1);
  });

  it("cuts a flush down to one file", () => {
    const { buffer } = open();
    buffer.add(chunk(file("a"), [1, 2]));
    buffer.add(chunk(file("b"), [3, 4, 5], { from: 7 }));
    const flush = buffer.nextFlush();
    const second = flush.steps[1];
    if (!second) throw new Error("no second step");
    expect(buffer.flushOf(flush, second)).toEqual({ ticks: [3, 4, 5], steps: [second] });
  });

  it("hands out every tick once, in order, and completes every file once, however they are cut", () => {
    const cuts = fc.array(fc.array(fc.integer({ min: 0, max: 7 }), { minLength: 1, maxLength: 4 }), {
      maxLength: 8,
    });
    fc.assert(
      fc.property(cuts, fc.integer({ min: 1, max: 10 }), (files, insertBatchSize) => {
        const { buffer } = open({ insertBatchSize, flushTimeoutMs: 0 });
        const flushed: string[] = [];
        const completed: string[] = [];
        for (const [index, sizes] of files.entries()) {
          const own = file(`f${index}`);
          let from = 0;
          for (const [part, size] of sizes.entries()) {
            const records = range(index * 1000 + from, size);
            const isLast = part === sizes.length - 1;
            if (size > 0 || isLast) buffer.add(chunk(own, records, { from, isLast }));
            from += size;
          }
        }
        while (!buffer.isEmpty()) {
          const flush = buffer.nextFlush();
          expect(flush.ticks.length).toBeLessThanOrEqual(insertBatchSize);
          flushed.push(...flush.ticks.map(String));
          completed.push(...flush.steps.filter((step) => step.completes).map((step) => step.file.filename));
          buffer.remove(flush);
        }
        const all = files.flatMap((sizes, index) =>
          range(
            index * 1000,
            sizes.reduce((sum, size) => sum + size, 0),
          ).map(String),
        );
        expect(flushed).toEqual(all);
        expect(completed).toEqual(files.map((_, index) => `f${index}`));
        expect(buffer.getBufferSize()).toBe(0);
      }),
    );
  });
});
