import assert from "node:assert/strict";
import { SimulationMetadataSchema } from "../../contracts/index.ts";
import { CorruptBatchError } from "../../storage/index.ts";
import type { StorageConformanceCase } from "./conformance-case.ts";
import {
  allPages,
  bytesOf,
  exampleRanges,
  keysOf,
  metadata,
  nextSecond,
  rejects,
  runId,
  shuffled,
  strayNames,
  ticksOf,
} from "./fixtures.ts";

/** Files are found in tick order, by page and by range. */
export const listingCases: readonly StorageConformanceCase[] = [
  {
    name: "lists short, long and very long batches in tick order, whatever their age",
    async run(context) {
      const storage = context.open();
      const ranges = shuffled(exampleRanges);
      for (const [first, last] of ranges) await storage.writeBatch(runId, first, last, []);
      const { files, truncated } = await storage.listBatchFiles(runId, undefined, 1_000);
      assert.deepEqual(ticksOf(files), exampleRanges);
      assert.equal(truncated, false);
    },
  },
  {
    name: "returns every file that overlaps a range, and no other",
    async run(context) {
      const storage = context.open();
      for (const [first, last] of exampleRanges) await storage.writeBatch(runId, first, last, []);
      const edges = [...new Set(exampleRanges.flat().flatMap((tick) => [tick - 1, tick, tick + 1]))];
      for (const start of edges.filter((tick) => tick >= 0 && Number.isSafeInteger(tick))) {
        for (const length of [0, 150_000]) {
          const end = Math.min(start + length, Number.MAX_SAFE_INTEGER);
          const { files } = await storage.listBatchFiles(`${runId}/`, undefined, 1_000, start, end);
          const overlapping = exampleRanges.filter(([first, last]) => first <= end && last >= start);
          assert.deepEqual(ticksOf(files), overlapping, `ticks ${start} to ${end}`);
        }
      }
    },
  },
  {
    name: "pages without loss or repetition at every limit",
    async run(context) {
      const storage = context.open();
      for (const [first, last] of exampleRanges) await storage.writeBatch(runId, first, last, []);
      for (const limit of [1, 2, 3, exampleRanges.length, 100]) {
        const pages = await allPages(storage, limit);
        assert.deepEqual(ticksOf(pages.flat()), exampleRanges);
        assert.ok(pages.every((page) => page.length <= limit));
      }
    },
  },
  {
    name: "continues behind its place: sees later files there, not files that appear before it",
    async run(context) {
      const storage = context.open();
      await storage.writeBatch(runId, 1_000, 1_999, []);
      await storage.writeBatch(runId, 3_000, 3_999, []);
      const first = await storage.listBatchFiles(runId, undefined, 1);
      assert.deepEqual([ticksOf(first.files), first.truncated], [[[1_000, 1_999]], true]);
      for (const start of [0, 2_000, 4_000]) await storage.writeBatch(runId, start, start + 999, []);
      await context.remove(first.files[0]?.key ?? "");
      const rest = await context.open().listBatchFiles(runId, first.nextToken, 10);
      assert.deepEqual(ticksOf(rest.files), [
        [2_000, 2_999],
        [3_000, 3_999],
        [4_000, 4_999],
      ]);
      assert.equal(rest.truncated, false);
      const nothing = await storage.listBatchFiles(runId, rest.nextToken, 10);
      assert.deepEqual([nothing.files, nothing.nextToken], [[], rest.nextToken]);
      await storage.writeBatch(runId, 5_000, 5_999, []);
      const late = await storage.listBatchFiles(runId, nothing.nextToken, 10);
      assert.deepEqual(ticksOf(late.files), [[5_000, 5_999]]);
      const missed = await storage.listBatchFiles(runId, undefined, 10, 0, 999);
      assert.deepEqual(ticksOf(missed.files), [[0, 999]]);
    },
  },
  {
    name: "refuses a token that is none of this run's",
    async run(context) {
      const storage = context.open();
      const { key } = await storage.writeBatch("run-2", 0, 9, []);
      for (const token of [key, "nonsense", "", "../../etc/passwd"])
        await rejects(storage.listBatchFiles(runId, token, 1), "STORAGE_TOKEN_INVALID");
    },
  },
  {
    name: "keeps runs apart, also those whose ids begin alike",
    async run(context) {
      const storage = context.open();
      for (const id of ["run-1", "run-10", "run-1-a", "Run-1"])
        await storage.writeBatch(id, 0, 9, [bytesOf(1)]);
      for (const prefix of ["run-1", "run-1/", "run-1/raw/"]) {
        const { files } = await storage.listBatchFiles(prefix, undefined, 10);
        assert.deepEqual(
          files.map((file) => file.runId),
          ["run-1"],
        );
      }
      for (const prefix of ["", "/", "../", "run 1/"])
        await rejects(storage.listBatchFiles(prefix, undefined, 1), "RUN_ID_INVALID");
      assert.deepEqual((await storage.listBatchFiles("run-1/other/", undefined, 1)).files, []);
    },
  },
  {
    name: "lists files with 10 digits in their names, and nothing that is no batch file",
    async run(context) {
      const storage = context.open();
      const { key } = await storage.writeBatch(runId, 2_000, 2_999, []);
      const flat = `${runId}/batch_0000000000_0000000999.pb`;
      const raw = `${runId}/raw/batch_0000001000_0000001999.pb`;
      for (const name of [flat, raw]) await context.writeRaw(name, bytesOf(1));
      const folder = key.slice(0, key.lastIndexOf("/"));
      for (const name of strayNames) await context.writeRaw(`${folder}/${name}`, bytesOf(1));
      await storage.writeMessage(`${runId}/metadata.pb`, SimulationMetadataSchema, metadata(runId));
      assert.deepEqual(await keysOf(storage), [flat, raw, key]);
      await assert.rejects(storage.readBatch(flat), CorruptBatchError);
    },
  },
  {
    name: "finds the file that ends last",
    async run(context) {
      const storage = context.open();
      assert.equal(await storage.findLastBatchFile(runId), undefined);
      for (const [first, last] of exampleRanges) await storage.writeBatch(runId, first, last, []);
      for (;;) {
        const { files } = await storage.listBatchFiles(runId, undefined, 1_000);
        const expected = files.toSorted((a, b) => a.tickEnd - b.tickEnd || a.tickStart - b.tickStart).at(-1);
        assert.deepEqual(await storage.findLastBatchFile(runId), expected);
        if (!expected) break;
        await context.remove(expected.key);
      }
    },
  },
  {
    name: "lists runs, the oldest first, and those that appeared after a moment",
    async run(context) {
      const storage = context.open();
      assert.deepEqual(await storage.listRunIds(), []);
      await storage.writeBatch("zebra", 0, 0, []);
      await nextSecond();
      const between = new Date();
      await nextSecond();
      await storage.writeMessage("alpha/metadata.pb", SimulationMetadataSchema, metadata("alpha"));
      assert.deepEqual(await storage.listRunIds(), ["zebra", "alpha"]);
      assert.deepEqual(await storage.listRunIds(between), ["alpha"]);
      assert.deepEqual(await storage.listRunIds(new Date(Date.now() + 60_000)), []);
    },
  },
];
